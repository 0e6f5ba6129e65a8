// .npy: one array behind a header.
#include <utility>

#include "base/checks.h"
#include "io/format.h"
#include "io/npy_header.h"
#include "io/sizes.h"

namespace heed::io {
namespace {

class NpyFormat : public Format {
 public:
  NpyFormat(Bytes file, const std::string& label, const ReadOptions& options)
      : Format(label),
        header_(parse_npy_header(file, label, options)),
        elements_(file.subspan(header_.data_offset)) {
    check_npy_size(header_, elements_.size(), label);
    add({"", header_.layout.dtype, header_.layout.shape});
  }
  std::string_view name() const override { return "npy"; }
  Elements load(std::size_t) const override { return arrange(elements_, header_.layout); }

 private:
  NpyHeader header_;
  Bytes elements_;
};

}  // namespace

std::unique_ptr<Format> open_npy(Bytes file, const std::string& label, const ReadOptions& options) {
  return std::make_unique<NpyFormat>(file, label, options);
}

NpyWriter::NpyWriter(OutputFile file, DType dtype, const Shape& shape)
    : file_(std::move(file)), missing_(checked_bytes("npy", dtype, shape)) {
  file_.write(format_npy_header(dtype, shape));
}

void NpyWriter::append(std::span<const std::byte> elements) {
  require(elements.size() <= missing_, "npy: ", elements.size(), " bytes more come but only ",
          missing_, " are missing");
  file_.write(elements);
  missing_ -= elements.size();
}

void NpyWriter::commit() {
  require(missing_ == 0, "npy: ", missing_, " bytes of the array have not come");
  file_.commit();
}

void write_npy(OutputFile file, const ArrayView& array) {
  NpyWriter writer(std::move(file), array.dtype, array.shape);
  writer.append(array.bytes);
  writer.commit();
}

}  // namespace heed::io
