#include "io/mapped_file.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>

#include "base/checks.h"
#include "heed/io.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#elif !defined(__EMSCRIPTEN__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace heed::io {
namespace {

// The system's part: map_file() gives nothing when mapping is not possible, and the file is then
// read instead; unmap() undoes it. `size` > 0 is the size of the regular file.
#if defined(_WIN32)

std::optional<Bytes> map_file(const std::filesystem::path& path, std::size_t size) {
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE,
                                  nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return {};
  const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  CloseHandle(file);
  if (mapping == nullptr) return {};
  const void* data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size);
  CloseHandle(mapping);
  if (data == nullptr) return {};
  return Bytes(static_cast<const std::byte*>(data), size);
}

void unmap(Bytes bytes) {
  UnmapViewOfFile(bytes.data());
}

#elif defined(__EMSCRIPTEN__)

std::optional<Bytes> map_file(const std::filesystem::path&, std::size_t) {
  return {};
}
void unmap(Bytes) {}

#else

std::optional<Bytes> map_file(const std::filesystem::path& path, std::size_t size) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (data == MAP_FAILED) return {};
  return Bytes(static_cast<const std::byte*>(data), size);
}

void unmap(Bytes bytes) {
  ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

#endif

struct CloseStream {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};

std::vector<std::byte> read_whole(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, CloseStream> stream(std::fopen(path.string().c_str(), "rb"));
  if (stream == nullptr) fail(path.string(), ": ", std::generic_category().message(errno));
  return read_stream(stream.get(), path.string());
}

}  // namespace

FileBytes::FileBytes(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  require(std::filesystem::exists(status), path.string(), ": no such file");
  require(!std::filesystem::is_directory(status), path.string(), ": is a folder, not a file");
  if (std::filesystem::is_regular_file(status)) {
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > 0) {
      if (const auto mapping = map_file(path, static_cast<std::size_t>(size))) {
        mapped_ = true;
        bytes_ = *mapping;
        return;
      }
    }
  }
  owned_ = read_whole(path);  // a pipe, an empty file, or a system that maps nothing
  bytes_ = owned_;
}

FileBytes::~FileBytes() {
  if (mapped_) unmap(bytes_);
}

std::vector<std::byte> read_stream(std::FILE* stream, std::string_view label) {
  std::vector<std::byte> bytes;
  std::size_t got = 0;
  do {
    // Grows by what has come, never by what a header claims.
    const std::size_t room = bytes.size() < 65536 ? 65536 : bytes.size();
    const std::size_t have = bytes.size();
    bytes.resize(have + room);
    got = std::fread(bytes.data() + have, 1, room, stream);
    bytes.resize(have + got);
  } while (got > 0);
  require(std::ferror(stream) == 0, label, ": reading failed after ", bytes.size(), " bytes");
  return bytes;
}

}  // namespace heed::io
