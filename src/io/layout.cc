// From how a file lays elements out to how arrays lie in memory.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "io/format.h"

namespace heed::io {
namespace {

// Fortran order to C order: the result is filled in order, its source's position kept up to date.
std::vector<std::byte> transposed(Bytes source, const Shape& shape, std::size_t width) {
  std::vector<std::byte> result(source.size());
  std::vector<std::size_t> stride(shape.size()), index(shape.size(), 0);
  std::size_t step = width;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = step;
    step *= shape[axis];
  }
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += width) {
    std::memcpy(&result[to], &source[from], width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < shape[axis]) break;
      from -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

bool usable_in_place(Bytes elements, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(elements.data()) % size_of(dtype) != 0) return false;
  return dtype != DType::boolean || std::all_of(elements.begin(), elements.end(),
                                                [](std::byte b) { return b <= std::byte{1}; });
}

std::vector<std::byte> arrange(std::vector<std::byte> stored, const Layout& layout) {
  const std::size_t width = size_of(layout.dtype);
  if (layout.swapped) swap_bytes(stored, width);
  if (layout.dtype == DType::boolean)
    for (std::byte& b : stored) b = b == std::byte{0} ? b : std::byte{1};
  if (layout.fortran_order && layout.shape.size() > 1)
    return transposed(stored, layout.shape, width);
  return stored;
}

Elements arrange(Bytes stored, const Layout& layout) {
  const bool c_order = !layout.fortran_order || layout.shape.size() < 2;
  if (!layout.swapped && c_order && usable_in_place(stored, layout.dtype)) return {stored, {}};
  return {{}, arrange(std::vector<std::byte>(stored.begin(), stored.end()), layout)};
}

}  // namespace heed::io
