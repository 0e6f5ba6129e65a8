// Matrices of the reference, and reading them from strided views of any float dtype.
#pragma once

#include <cstddef>
#include <vector>

#include "base/checks.h"
#include "heed/dtype.h"
#include "heed/reference.h"
#include "heed/view.h"

namespace heed::reference {

// Element `index` of an array of f32, f16, bf16 or f64, exactly.
inline double load(const void* data, DType dtype, std::ptrdiff_t index) {
  switch (dtype) {
    case DType::f16: return to_float(static_cast<const f16*>(data)[index]);
    case DType::bf16: return to_float(static_cast<const bf16*>(data)[index]);
    case DType::f64: return static_cast<const double*>(data)[index];
    default: return static_cast<const float*>(data)[index];
  }
}

// Owning, contiguous [rows, cols].
template <class T>
struct Matrix {
  std::size_t rows = 0, cols = 0;
  std::vector<T> values;

  Matrix(std::size_t row_count, std::size_t col_count)
      : rows(row_count),
        cols(col_count),
        values(checked_product("reference", {row_count, col_count, sizeof(T)}) / sizeof(T)) {}
  T& operator()(std::size_t i, std::size_t c) { return values[i * cols + c]; }
  const T& operator()(std::size_t i, std::size_t c) const { return values[i * cols + c]; }
};

// Tokens [first, first + count) of one head, as [count, dim].
template <class T>
Matrix<T> matrix_of(ConstTensorView view, std::size_t batch, std::size_t head, std::size_t first,
                    std::size_t count) {
  Matrix<T> matrix(count, view.dim);
  const auto start = static_cast<std::ptrdiff_t>(batch) * view.batch_stride +
                     static_cast<std::ptrdiff_t>(head) * view.head_stride;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = start + static_cast<std::ptrdiff_t>(first + i) * view.token_stride;
    for (std::size_t c = 0; c < view.dim; ++c)
      matrix(i, c) =
          static_cast<T>(load(view.data, view.dtype, row + static_cast<std::ptrdiff_t>(c)));
  }
  return matrix;
}

template <class T>
Tensor<T> zeros(std::size_t batch, std::size_t heads, std::size_t rows, std::size_t cols) {
  const std::size_t size = checked_product("reference", {batch, heads, rows, cols, sizeof(T)});
  return {batch, heads, rows, cols, std::vector<T>(size / sizeof(T))};
}

}  // namespace heed::reference
