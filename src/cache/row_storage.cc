#include "cache/row_storage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/checks.h"
#include "base/element.h"

namespace heed::cache {
namespace {

constexpr float kLargest = 127;  // magnitude of a stored i8: -128 is left out, for symmetry

// To the nearest integer, ties to even, for |x| <= 2^22: the sum has no room for a fraction.
float rounded(float x) {
  constexpr float kNoFraction = 0x1.8p23f;
  return (x + kNoFraction) - kNoFraction;
}

// Stores x / scale as integers and returns the scale; NaN if an element is not finite.
template <class From>
float quantise(const From* from, std::size_t dim, std::int8_t* to) {
  float largest = 0, finite = 0;  // `finite` is NaN once an element is not
  for (std::size_t c = 0; c < dim; ++c) {
    const float x = as_float(from[c]);
    largest = std::max(largest, std::abs(x));
    finite += x - x;
  }
  const float scale = largest / kLargest;
  if (finite != 0 || scale == 0) {
    std::fill_n(to, dim, std::int8_t{0});
    return finite != 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  }
  for (std::size_t c = 0; c < dim; ++c)
    to[c] = static_cast<std::int8_t>(
        rounded(std::clamp(as_float(from[c]) / scale, -kLargest, kLargest)));
  return scale;
}

template <class From, class To>
void convert(const From* from, std::size_t dim, To* to) {
  for (std::size_t c = 0; c < dim; ++c) assign(to[c], as_float(from[c]));
}

// One row; `scale` is written for i8.
template <class From>
void store_row(const From* from, std::size_t dim, DType dtype, std::byte* to, float* scale) {
  if (dtype == dtype_of<From>) {
    std::memcpy(to, from, dim * sizeof(From));
    return;
  }
  switch (dtype) {
    case DType::f32: return convert(from, dim, reinterpret_cast<float*>(to));
    case DType::f16: return convert(from, dim, reinterpret_cast<f16*>(to));
    case DType::bf16: return convert(from, dim, reinterpret_cast<bf16*>(to));
    default: *scale = quantise(from, dim, reinterpret_cast<std::int8_t*>(to));
  }
}

std::size_t row_count(std::string_view name, const RowShape& shape) {
  // The bytes of the rows bound everything that is computed from their sizes.
  checked_product(name, {shape.blocks, shape.heads, shape.tokens, shape.dim, sizeof(float)});
  return shape.blocks * shape.heads * shape.tokens;
}

}  // namespace

RowStorage::RowStorage(std::string_view name, const RowShape& shape)
    : shape_(shape),
      rows_(row_count(name, shape) * row_bytes()),
      scales_(shape.dtype == DType::i8 ? row_count(name, shape) : 0) {}

void RowStorage::write(Place to, ConstTensorView from, std::size_t batch, std::size_t first,
                       std::size_t count) {
  const auto write_as = [&](auto element) {
    using From = decltype(element);
    for (std::size_t head = 0; head < shape_.heads; ++head)
      for (std::size_t t = 0; t < count; ++t) {
        const auto* source = static_cast<const From*>(from.data) +
                             static_cast<std::ptrdiff_t>(batch) * from.batch_stride +
                             static_cast<std::ptrdiff_t>(head) * from.head_stride +
                             static_cast<std::ptrdiff_t>(first + t) * from.token_stride;
        const std::size_t n = row(to.block, head, to.token + t);
        float* scale = shape_.dtype == DType::i8 ? scales_.data() + n : nullptr;
        store_row(source, shape_.dim, shape_.dtype, rows_.data() + n * row_bytes(), scale);
      }
  };
  switch (from.dtype) {
    case DType::f16: return write_as(f16());
    case DType::bf16: return write_as(bf16());
    default: return write_as(float());
  }
}

void RowStorage::copy(std::size_t block, const RowStorage& from, std::size_t from_block,
                      std::size_t tokens) {
  if (tokens == 0) return;
  for (std::size_t head = 0; head < shape_.heads; ++head) {
    const std::size_t to = row(block, head, 0), source = from.row(from_block, head, 0);
    std::memcpy(rows_.data() + to * row_bytes(), from.rows_.data() + source * row_bytes(),
                tokens * row_bytes());
    if (shape_.dtype == DType::i8)
      std::copy_n(from.scales_.data() + source, tokens, scales_.data() + to);
  }
}

ConstTensorView RowStorage::view(std::size_t tokens) const {
  const auto block = static_cast<std::ptrdiff_t>(row(1, 0, 0)),
             head = static_cast<std::ptrdiff_t>(row(0, 1, 0)),
             dim = static_cast<std::ptrdiff_t>(shape_.dim);
  return {rows_.data(), shape_.dtype, shape_.blocks, shape_.heads, tokens,
          shape_.dim,   block * dim,  head * dim,    dim};
}

ScaleView RowStorage::scales() const {
  return {scales_.data(), static_cast<std::ptrdiff_t>(row(1, 0, 0)),
          static_cast<std::ptrdiff_t>(row(0, 1, 0)), 1};
}

}  // namespace heed::cache
