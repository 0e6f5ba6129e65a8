// FileBytes: the bytes of a file, mapped where the system can, otherwise read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

#include "io/bytes.h"

namespace heed::io {

class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path);
  explicit FileBytes(std::vector<std::byte> bytes) : owned_(std::move(bytes)), bytes_(owned_) {}
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  Bytes get() const { return bytes_; }

 private:
  std::vector<std::byte> owned_;  // when not mapped
  bool mapped_ = false;
  Bytes bytes_;
};

}  // namespace heed::io
