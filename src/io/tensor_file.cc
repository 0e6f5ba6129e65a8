// TensorFile: one interface over the formats; and addresses, file:name.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/checks.h"
#include "heed/io.h"
#include "io/format.h"
#include "io/mapped_file.h"
#include "io/npy_header.h"
#include "io/safetensors_header.h"
#include "io/text.h"
#include "io/zip.h"

namespace heed::io {
namespace {

bool looks_like_json(Bytes file) {
  for (const std::byte b : file)
    if (b != std::byte{' '} && b != std::byte{'\n'} && b != std::byte{'\r'} && b != std::byte{'\t'})
      return b == std::byte{'{'};
  return false;
}

std::unique_ptr<Format> open_format(Bytes file, const std::string& label,
                                    const std::filesystem::path* path, const ReadOptions& options) {
  require(!file.empty(), label, ": is empty");
  if (looks_like_npy(file)) return open_npy(file, label, options);
  if (looks_like_zip(file)) return open_npz(file, label, options);
  if (looks_like_safetensors(file)) return open_safetensors(file, label);
  if (path != nullptr && looks_like_json(file))
    return open_sharded(file, label, path->parent_path());
  fail(label, ": is none of .npy, .npz, safetensors or a safetensors index: begins with ",
       in_quotes(
           {reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 8)}));
}

}  // namespace

void Format::add(TensorInfo tensor) {
  index_.emplace(tensor.name, tensors_.size());
  tensors_.push_back(std::move(tensor));
}

std::size_t Format::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return found->second;
  constexpr std::size_t kShown = 6;
  std::string there;
  for (std::size_t i = 0; i < tensors_.size() && i < kShown; ++i)
    there += (i == 0 ? "" : ", ") + in_quotes(tensors_[i].name);
  if (tensors_.size() > kShown)
    there += " and " + std::to_string(tensors_.size() - kShown) + " more";
  fail(label_, ": has no tensor ", in_quotes(name), ", only ",
       there.empty()         ? "nothing"
       : index_.contains("") ? "one array without a name"
                             : there);
}

struct TensorFile::Impl {
  // What has been asked for, once.
  struct Slot {
    bool loaded = false;
    Elements elements;
  };

  std::string label;
  FileBytes file;
  std::unique_ptr<Format> format;
  std::mutex mutex;  // guards slots
  std::vector<Slot> slots;

  template <class Source>
  Impl(Source&& source, std::string name, const std::filesystem::path* path,
       const ReadOptions& options)
      : label(std::move(name)),
        file(std::forward<Source>(source)),
        format(open_format(file.get(), label, path, options)),
        slots(format->tensors().size()) {}

  ArrayView view(std::size_t i) {
    const std::lock_guard lock(mutex);
    Slot& slot = slots[i];
    if (!slot.loaded) slot.elements = format->load(i);
    slot.loaded = true;
    return {format->tensors()[i].dtype, format->tensors()[i].shape, slot.elements.get()};
  }

  void forget(std::size_t i) {
    const std::lock_guard lock(mutex);
    slots[i] = {};
  }
};

TensorFile::TensorFile(const std::filesystem::path& path, const ReadOptions& options)
    : impl_(std::make_unique<Impl>(path, path.string(), &path, options)) {}
TensorFile::TensorFile(std::vector<std::byte> bytes, std::string label, const ReadOptions& options)
    : impl_(std::make_unique<Impl>(std::move(bytes), std::move(label), nullptr, options)) {}
TensorFile::~TensorFile() = default;
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;

std::string_view TensorFile::format() const {
  return impl_->format->name();
}
const std::vector<TensorInfo>& TensorFile::tensors() const {
  return impl_->format->tensors();
}
const std::map<std::string, std::string>& TensorFile::metadata() const {
  return impl_->format->metadata();
}

const TensorInfo& TensorFile::info(std::string_view name) const {
  return tensors()[impl_->format->find(name)];
}

ArrayView TensorFile::view(std::string_view name) const {
  return impl_->view(impl_->format->find(name));
}

void TensorFile::forget(std::string_view name) const {
  impl_->forget(impl_->format->find(name));
}

Array TensorFile::read(std::string_view name) const {
  const std::size_t i = impl_->format->find(name);
  const auto& [unused, dtype, shape] = tensors()[i];
  Elements elements = impl_->format->load(i);
  if (elements.owned.empty()) return Array(ArrayView{dtype, shape, elements.in_place});
  return Array(dtype, shape, std::move(elements.owned));
}

Address parse_address(std::string_view text) {
  std::error_code error;
  const auto exists = [&](std::string_view path) { return std::filesystem::exists(path, error); };
  if (exists(text)) return {text, ""};
  for (std::size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1))
    if (exists(text.substr(0, colon)))
      return {text.substr(0, colon), std::string(text.substr(colon + 1))};
  return {text, ""};
}

Array read(std::string_view address, const ReadOptions& options) {
  const Address where = parse_address(address);
  const TensorFile file(where.file, options);
  if (!where.name.empty()) return file.read(where.name);
  require(file.tensors().size() == 1, address, ": holds ", file.tensors().size(),
          " tensors; name one of them, ", address, ":NAME");
  return file.read(file.tensors()[0].name);
}

}  // namespace heed::io
