#include "cli/files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace heed::cli {
namespace {

// Two-byte void elements can hardly be anything but bfloat16 here.
constexpr io::ReadOptions kReading{.bf16_from_v2 = true};

std::unique_ptr<io::TensorFile> open_path(const std::string& path) {
  if (path != "-") return std::make_unique<io::TensorFile>(std::filesystem::path(path), kReading);
  return std::make_unique<io::TensorFile>(io::read_stream(stdin, "standard input"),
                                          "standard input", kReading);
}

// The one name of a file that need not exist yet.
std::string full_path(const std::string& path) {
  std::error_code error;  // what lies behind /dev/stdout may have no name
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute, error);
  return (error ? absolute : resolved).string();
}

}  // namespace

const io::TensorFile& InputFiles::file(const std::string& path) {
  for (const auto& [name, opened] : files_)
    if (name == path) return *opened;
  files_.emplace_back(path, open_path(path));
  return *files_.back().second;
}

io::ArrayView InputFiles::open(const std::string& flag, const std::string& address) {
  try {
    const io::Address where = address == "-" ? io::Address{"-", ""} : io::parse_address(address);
    const io::TensorFile& opened = file(where.file.string());
    if (!where.name.empty()) return opened.view(where.name);
    if (opened.tensors().size() != 1)
      throw Error(address + ": holds " + std::to_string(opened.tensors().size()) +
                  " tensors; name one of them, " + address + ":NAME");
    return opened.view(opened.tensors()[0].name);
  } catch (const Error& e) {
    throw Error(flag + ": " + e.what());
  }
}

const io::TensorFile& InputFiles::open_file(const std::string& flag, const std::string& path) {
  try {
    return file(path);
  } catch (const Error& e) {
    throw Error(flag + ": " + e.what());
  }
}

io::ArrayView InputFiles::keep(io::Array array) {
  return arrays_.emplace_back(std::move(array));
}

std::size_t OutputFiles::add(const std::string& address, DType dtype, const io::Shape& shape) {
  if (address == "-" && is_terminal(stdout))
    throw Error("not writing a .npy file to a terminal; redirect it or give a file's name");
  for (const char* other : {".npz", ".safetensors"})
    if (address.ends_with(other)) throw Error(address + ": heed run writes .npy, not " + other);
  const std::string name = address == "-" ? address : full_path(address);
  if (std::ranges::find(names_, name) != names_.end())
    throw Error(address + ": is given for two outputs");
  names_.push_back(name);
  writers_.emplace_back(address == "-" ? io::OutputFile(stdout, "standard output")
                                       : io::OutputFile(std::filesystem::path(address)),
                        dtype, shape);
  return writers_.size() - 1;
}

void OutputFiles::append(std::size_t output, std::span<const std::byte> elements) {
  constexpr std::size_t kPiece = std::size_t{1} << 23;  // how much is written before a stop is seen
  while (!elements.empty()) {
    throw_if_interrupted();
    const std::size_t count = std::min(elements.size(), kPiece);
    writers_[output].append(elements.first(count));
    elements = elements.subspan(count);
  }
}

void OutputFiles::commit() {
  throw_if_interrupted();
  for (io::NpyWriter& writer : writers_) writer.commit();
}

}  // namespace heed::cli
