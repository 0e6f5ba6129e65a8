// CRC-32 and the deflate method. deflate.cc is the only file that knows zlib; built without it
// (HEED_WITH_ZLIB=OFF) compressed data is refused and CRC-32 still works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/bytes.h"

namespace heed::io {

// Of all bytes so far, given that of the earlier ones.
std::uint32_t crc32(Bytes bytes, std::uint32_t earlier = 0);

// deflate cannot shrink anything more than this many times.
inline constexpr std::uint64_t kMostDeflation = 1032;

// Raw deflate data (no zlib or gzip header), decompressed piece by piece. `source` is what errors
// call it.
class Inflater {
 public:
  Inflater(Bytes compressed, std::string source);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Up to `bytes` more, fewer only at the end. Memory grows with what comes, not with what is
  // asked for.
  std::vector<std::byte> read(std::size_t bytes);
  // Throws unless both the output and the compressed data have ended.
  void expect_end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::vector<std::byte> deflated(Bytes bytes);

}  // namespace heed::io
