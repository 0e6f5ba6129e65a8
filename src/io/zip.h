// The zip container, as far as .npz needs it: entries stored or deflated, with zip64, one disk,
// no encryption.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/io.h"
#include "io/bytes.h"

namespace heed::io {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;  // uncompressed, as claimed
  Bytes data;              // as it lies in the file
};

bool looks_like_zip(Bytes file);

// Every entry of the central directory, checked against its local header: inside the file, apart
// from the others, named once.
std::vector<ZipEntry> read_zip_directory(Bytes file, const std::string& label);

// Writes entries one after the other and the directory behind them.
class ZipWriter {
 public:
  explicit ZipWriter(OutputFile file) : file_(std::move(file)) {}
  // One entry, its content given in two parts.
  void add(const std::string& name, Bytes head, Bytes body, bool deflate);
  void commit();

 private:
  void put(Bytes bytes);

  OutputFile file_;
  std::uint64_t offset_ = 0;
  std::uint64_t entries_ = 0;
  std::vector<std::byte> directory_;
};

}  // namespace heed::io
