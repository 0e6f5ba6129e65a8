#include "io/npy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/checks.h"
#include "io/sizes.h"

namespace heed::io {

Bytes npy_elements(Bytes file, const NpyHeader& header, std::string_view label) {
  const Bytes elements = file.subspan(header.data_offset);
  require(elements.size() == header.data_bytes, label, ": shape ", to_string(header.shape), " of ",
          name_of(header.dtype), " needs ", header.data_bytes, " bytes but ", elements.size(),
          " follow the header");
  return elements;
}

bool usable_in_place(Bytes elements, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(elements.data()) % size_of(dtype) != 0) return false;
  return dtype != DType::boolean || std::all_of(elements.begin(), elements.end(),
                                                [](std::byte b) { return b <= std::byte{1}; });
}

namespace {

// Fortran order to C order: `c` walks the result in order, its position in `f` kept up to date.
std::vector<std::byte> transposed(const std::vector<std::byte>& f, const Shape& shape,
                                  std::size_t width) {
  std::vector<std::byte> c(f.size());
  std::vector<std::size_t> stride(shape.size()), index(shape.size(), 0);
  std::size_t step = width;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = step;
    step *= shape[axis];
  }
  std::size_t from = 0;
  for (std::size_t to = 0; to < c.size(); to += width) {
    std::memcpy(&c[to], &f[from], width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < shape[axis]) break;
      from -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return c;
}

}  // namespace

std::vector<std::byte> decode_elements(std::vector<std::byte> elements, const NpyHeader& header) {
  const std::size_t width = size_of(header.dtype);
  if (header.swapped) swap_bytes(elements, width);
  if (header.dtype == DType::boolean)
    for (std::byte& b : elements) b = b == std::byte{0} ? b : std::byte{1};
  if (header.fortran_order && header.shape.size() > 1)
    elements = transposed(elements, header.shape, width);
  return elements;
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
