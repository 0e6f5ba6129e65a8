// TensorFile: one interface over the formats; and addresses, file:name.
#include <map>
#include <mutex>
#include <utility>

#include "base/checks.h"
#include "heed/io.h"
#include "io/mapped_file.h"
#include "io/npy.h"
#include "io/text.h"

namespace heed::io {

struct TensorFile::Impl {
  std::string label;
  FileBytes file;
  NpyHeader header;
  std::vector<TensorInfo> tensors;
  std::mutex mutex;                                   // guards `decoded`
  std::map<std::string, Array, std::less<>> decoded;  // tensors that cannot be used in place

  template <class Source>
  Impl(Source&& source, std::string name, const ReadOptions& options)
      : label(std::move(name)), file(std::forward<Source>(source)) {
    require(!file.get().empty(), label, ": is empty");
    header = parse_npy_header(file.get(), label, options);
    npy_elements(file.get(), header, label);
    tensors.push_back({"", header.dtype, header.shape});
  }

  ArrayView view(std::string_view) {
    const Bytes elements = npy_elements(file.get(), header, label);
    if (usable_in_place(elements, header)) return {header.dtype, header.shape, elements};
    const std::lock_guard lock(mutex);
    auto found = decoded.find("");
    if (found == decoded.end()) {
      Array array(header.dtype, header.shape,
                  decode_elements({elements.begin(), elements.end()}, header));
      found = decoded.emplace("", std::move(array)).first;
    }
    return found->second;
  }
};

TensorFile::TensorFile(const std::filesystem::path& path, const ReadOptions& options)
    : impl_(std::make_unique<Impl>(path, path.string(), options)) {}
TensorFile::TensorFile(std::vector<std::byte> bytes, std::string label, const ReadOptions& options)
    : impl_(std::make_unique<Impl>(std::move(bytes), std::move(label), options)) {}
TensorFile::~TensorFile() = default;
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;

std::string_view TensorFile::format() const {
  return "npy";
}
const std::vector<TensorInfo>& TensorFile::tensors() const {
  return impl_->tensors;
}

const TensorInfo& TensorFile::info(std::string_view name) const {
  for (const TensorInfo& tensor : impl_->tensors)
    if (tensor.name == name) return tensor;
  fail(impl_->label, ": no tensor ", quoted(name), " among ", impl_->tensors.size());
}

ArrayView TensorFile::view(std::string_view name) const {
  info(name);
  return impl_->view(name);
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
