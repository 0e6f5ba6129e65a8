// Views: non-owning, strided windows onto memory that the caller keeps alive.
//
// A tensor of attention has four axes, [batch, heads, tokens, dim]. The last is contiguous; the
// others may have any stride (in elements; 0 broadcasts an input), so that every layout in use is
// read in place:
//   bhnd(p, B, H, N, D)   [batch, heads, tokens, dim]     PyTorch, ONNX 4-D
//   bnhd(p, B, N, H, D)   [batch, tokens, heads, dim]     flash-attn, ONNX 3-D (B, N, H*D)
// Views are plain values: copy them freely, from any thread.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "heed/dtype.h"

namespace heed {

// Non-owning [rows, cols]; columns contiguous, rows `stride` elements apart.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0, cols = 0, stride = 0;
  std::span<T> row(std::size_t i) const {
    assert(i < rows);
    return {data + i * stride, cols};
  }
};

// Non-owning [batch, heads, tokens, dim] of any attention dtype. `Pointer` is void* or const void*.
template <class Pointer>
struct BasicTensorView {
  Pointer data = nullptr;
  DType dtype = DType::f32;
  std::size_t batch = 0, heads = 0, tokens = 0, dim = 0;
  std::ptrdiff_t batch_stride = 0, head_stride = 0, token_stride = 0;  // in elements

  // A writable view is also a readable one.
  operator BasicTensorView<const void*>() const {
    return {data, dtype, batch, heads, tokens, dim, batch_stride, head_stride, token_stride};
  }
};
using TensorView = BasicTensorView<void*>;
using ConstTensorView = BasicTensorView<const void*>;

namespace detail {
template <class T>
using view_of = std::conditional_t<std::is_const_v<T>, ConstTensorView, TensorView>;
}

// Contiguous [batch, heads, tokens, dim].
template <class T>
detail::view_of<T> bhnd(T* data, std::size_t batch, std::size_t heads, std::size_t tokens,
                        std::size_t dim) {
  const auto n = static_cast<std::ptrdiff_t>(tokens), d = static_cast<std::ptrdiff_t>(dim);
  const auto h = static_cast<std::ptrdiff_t>(heads);
  return {data, dtype_of<std::remove_const_t<T>>, batch, heads, tokens, dim, h * n * d, n * d, d};
}

// Contiguous [batch, tokens, heads, dim], seen as [batch, heads, tokens, dim].
template <class T>
detail::view_of<T> bnhd(T* data, std::size_t batch, std::size_t tokens, std::size_t heads,
                        std::size_t dim) {
  const auto n = static_cast<std::ptrdiff_t>(tokens), d = static_cast<std::ptrdiff_t>(dim);
  const auto h = static_cast<std::ptrdiff_t>(heads);
  return {data, dtype_of<std::remove_const_t<T>>, batch, heads, tokens, dim, n * h * d, d, h * d};
}

// Non-owning [batch, heads, queries, keys], for masks (boolean) and biases (f32, f16, bf16, f64).
// Each size is the problem's or 1, and an axis of size 1 is broadcast. Strides in elements, any.
// Empty (data == nullptr) means: none.
struct ScoreView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::array<std::size_t, 4> sizes = {1, 1, 1, 1};
  std::array<std::ptrdiff_t, 4> strides = {0, 0, 0, 0};

  explicit operator bool() const { return data != nullptr; }
};

// Contiguous [batch, heads, queries, keys]; give 1 for an axis to broadcast.
template <class T>
ScoreView scores(const T* data, std::size_t batch, std::size_t heads, std::size_t queries,
                 std::size_t keys) {
  const auto q = static_cast<std::ptrdiff_t>(queries), k = static_cast<std::ptrdiff_t>(keys);
  const auto h = static_cast<std::ptrdiff_t>(heads);
  return {data, dtype_of<T>, {batch, heads, queries, keys}, {h * q * k, q * k, k, 1}};
}

// Where one float per (batch, head, query) goes, for example the logsumexp. Empty means: not
// wanted.
struct RowView {
  float* data = nullptr;
  std::ptrdiff_t batch_stride = 0, head_stride = 0, token_stride = 1;  // in elements

  explicit operator bool() const { return data != nullptr; }
};

// Contiguous [batch, heads, tokens].
inline RowView rows(float* data, std::size_t heads, std::size_t tokens) {
  const auto n = static_cast<std::ptrdiff_t>(tokens);
  return {data, static_cast<std::ptrdiff_t>(heads) * n, n, 1};
}

}  // namespace heed
