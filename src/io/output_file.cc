// Files that appear whole or not at all.
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "base/checks.h"
#include "heed/io.h"

#if defined(_WIN32)
#include <io.h>
#include <process.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace heed::io {
namespace {

namespace fs = std::filesystem;

#if defined(_WIN32)
int process_id() {
  return ::_getpid();
}
bool flush_to_disk(std::FILE* file) {
  return ::_commit(::_fileno(file)) == 0;
}
void flush_folder(const fs::path&) {}  // the rename itself is journalled
#else
int process_id() {
  return ::getpid();
}
bool flush_to_disk(std::FILE* file) {
  return ::fsync(::fileno(file)) == 0;
}
// The new name is in the folder; a file system that cannot sync folders is no reason to fail.
void flush_folder(const fs::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return;
  ::fsync(handle);
  ::close(handle);
}
#endif

// Unlike any other process's or thread's.
std::string temporary_suffix(unsigned number) {
  std::string suffix = ".";
  suffix.append(std::to_string(process_id())).append("-").append(std::to_string(number));
  return suffix.append(".tmp");
}

std::string system_message(int error) {
  return std::generic_category().message(error);
}

// /dev/stdout may lead to a regular file; that file belongs to whoever redirected it there.
bool is_device_path(const fs::path& path) {
  const std::string text = path.lexically_normal().generic_string();
  return text.starts_with("/dev/") || text.starts_with("/proc/");
}

// The file behind any symbolic links, which need not exist yet.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as the system itself
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    require(links < kMostLinks, path.string(), ": symbolic links lead in a circle");
    const fs::path next = fs::read_symlink(path, error);
    require(!error, path.string(), ": ", error.message());
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

}  // namespace

struct OutputFile::Impl {
  std::FILE* file = nullptr;
  std::string label;   // what errors call it
  fs::path target;     // what it becomes
  fs::path temporary;  // where it is until then; empty: written in place
  bool owned = true;   // close at the end

  Impl(std::FILE* stream, std::string name) : file(stream), label(std::move(name)), owned(false) {}

  explicit Impl(const fs::path& path) : label(path.string()) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    require(!fs::is_directory(status), label, ": is a folder, not a file");
    const bool replaceable = !fs::exists(status) || fs::is_regular_file(status);
    if (!replaceable || is_device_path(path)) {
      file = std::fopen(path.string().c_str(), "wb");
      if (file == nullptr) fail(label, ": ", system_message(errno));
      return;
    }
    target = follow_links(path);
    create_temporary();
    if (fs::exists(status)) fs::permissions(temporary, status.permissions(), error);
  }

  void create_temporary() {
    static std::atomic<unsigned> counter{0};
    constexpr int kAttempts = 100;  // names left behind by a killed process of the same number
    int error = EEXIST;
    for (int i = 0; i < kAttempts && error == EEXIST; ++i) {
      temporary = target;
      temporary += temporary_suffix(counter++);
      file = std::fopen(temporary.string().c_str(), "wbx");  // x: only a file that is new
      if (file != nullptr) return;
      error = errno;
    }
    temporary.clear();
    fail(label, ": cannot write here: ", system_message(error));
  }

  // `written` is known before errno is read.
  void check(bool written) const {
    if (!written) fail(label, ": writing failed: ", system_message(errno));
  }

  void write(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    check(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  }

  void commit() {
    check(std::fflush(file) == 0);
    if (temporary.empty()) return;
    check(flush_to_disk(file));
    check(std::fclose(std::exchange(file, nullptr)) == 0);
    std::error_code error;
    fs::rename(temporary, target, error);
    require(!error, label, ": cannot take its name: ", error.message());
    temporary.clear();
    flush_folder(target.has_parent_path() ? target.parent_path() : fs::path("."));
  }

  ~Impl() {
    if (file != nullptr && owned) std::fclose(file);
    std::error_code ignored;
    if (!temporary.empty()) fs::remove(temporary, ignored);
  }
};

OutputFile::OutputFile(const fs::path& path) : impl_(std::make_unique<Impl>(path)) {}
OutputFile::OutputFile(std::FILE* stream, std::string label)
    : impl_(std::make_unique<Impl>(stream, std::move(label))) {}
OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

void OutputFile::write(std::span<const std::byte> bytes) {
  impl_->write(bytes);
}
void OutputFile::commit() {
  impl_->commit();
}

void write_file(const fs::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace heed::io
