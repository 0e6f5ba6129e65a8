#include <utility>
#include <vector>

#include "base/checks.h"
#include "heed/io.h"
#include "io/sizes.h"

namespace heed::io {

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::size_t element_count(const Shape& shape) {
  return checked_elements("array", shape);
}

std::size_t checked_elements(std::string_view label, const Shape& shape) {
  // Empty axes do not excuse the others: strides are products of those alone.
  Shape filled = shape;
  std::erase(filled, 0u);
  const std::size_t count = checked_product(label, filled);
  return filled.size() == shape.size() ? count : 0;
}

std::size_t checked_bytes(std::string_view label, DType dtype, const Shape& shape) {
  return checked_product(label, {checked_elements(label, shape), size_of(dtype)});
}

Array::Array(DType type, Shape sizes)
    : dtype(type), shape(std::move(sizes)), bytes(checked_bytes("array", dtype, shape)) {}

Array::Array(DType type, Shape sizes, std::vector<std::byte> content)
    : dtype(type), shape(std::move(sizes)), bytes(std::move(content)) {
  const std::size_t needed = checked_bytes("array", dtype, shape);
  require(bytes.size() == needed, "array: shape ", to_string(shape), " of ", name_of(dtype),
          " needs ", needed, " bytes but ", bytes.size(), " are given");
}

Array::Array(const ArrayView& view)
    : Array(view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}) {}

void detail::wrong_type(DType have, DType asked) {
  fail("array: holds ", name_of(have), " but was read as ", name_of(asked));
}

}  // namespace heed::io
