// Python arrays as heed views, without copying: NumPy, the buffer protocol, and DLPack.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "heed/dtype.h"
#include "heed/view.h"

namespace heed::python {

namespace py = pybind11;

// A borrowed array: what it looks like, and what keeps it alive.
struct Array {
  static constexpr std::size_t kMostAxes = 8;

  py::object owner;  // keeps data alive
  void* data = nullptr;
  DType dtype = DType::f32;
  std::size_t ndim = 0;
  std::array<std::size_t, kMostAxes> shape = {};
  std::array<std::ptrdiff_t, kMostAxes> strides = {};  // in elements
  bool writable = true;

  std::size_t from_end(std::size_t axis) const { return shape[ndim - 1 - axis]; }
};

// Views any array-like. `name` is what errors call it. Throws TypeError for what is no array or has
// an element type heed does not know, ValueError for too many axes.
Array as_array(const py::object& object, std::string_view name);

// [..., tokens, dim] of 2 to 4 axes as [batch, heads, tokens, dim]; the last axis is copied
// together first if it is not contiguous (never for `out`).
ConstTensorView input_tensor(Array& array, std::string_view name);
TensorView output_tensor(const Array& array, std::string_view name);
// Ragged: [tokens, heads, dim] as batch 1.
ConstTensorView ragged_tensor(Array& array, std::string_view name);
TensorView ragged_output(const Array& array, std::string_view name);

// The array itself, or a copy in its place whose last axis is contiguous.
Array& with_contiguous_rows(Array& array, std::string_view name);
// ValueError unless `array` can be written row by row.
void require_output(const Array& array, std::string_view name);
// ValueError, saying what was `expected`, unless it has `least` to `most` axes.
void require_rank(const Array& array, std::size_t least, std::size_t most, std::string_view name,
                  std::string_view expected);
// ValueError or TypeError, with both, unless the array has this element type and shape.
void require_same(const Array& array, DType dtype, std::span<const std::size_t> shape,
                  std::string_view name);

// Broadcast from the right to [batch, heads, queries, keys].
ScoreView score_view(const Array& array, std::string_view name);

// A new C-contiguous NumPy array; bf16 needs ml_dtypes (TypeError says so).
py::array new_array(DType dtype, std::span<const std::size_t> shape);

// An array, or nested lists, as contiguous floats: the array itself where it is that already.
using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast>;
FloatArray float_array(const py::object& object, std::string_view name);

// One-dimensional numbers, converted and owned.
std::vector<std::int64_t> integers(const py::object& object, std::string_view name);
std::vector<float> floats(const py::object& object, std::string_view name);

}  // namespace heed::python
