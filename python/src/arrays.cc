#include "arrays.h"

#include <algorithm>
#include <string>

#include "dlpack.h"

namespace heed::python {
namespace {

std::string join(std::string_view a, std::string_view b) {
  return std::string(a) + std::string(b);
}

std::span<const std::size_t> shape_of(const Array& array) {
  return std::span(array.shape).first(array.ndim);
}

std::string text_of(std::span<const std::size_t> shape) {
  std::string text = "(";
  for (const std::size_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + ")";
}

std::string shape_text(const Array& array) {
  return text_of(shape_of(array));
}

// NumPy's kind letter and item size as a dtype; `name` tells bfloat16 (ml_dtypes) from other voids.
DType dtype_of_numpy(const py::dtype& dtype, std::string_view name) {
  const char kind = dtype.kind();
  const auto size = dtype.itemsize();
  if (!dtype.attr("isnative").cast<bool>())
    throw py::type_error(join(name, ": the array is not in native byte order"));
  switch (kind) {
    case 'f':
      if (size == 4) return DType::f32;
      if (size == 2) return DType::f16;
      if (size == 8) return DType::f64;
      break;
    case 'b': return DType::boolean;
    case 'i':
      if (size == 8) return DType::i64;
      if (size == 4) return DType::i32;
      break;
    case 'V':
      if (size == 2 && dtype.attr("name").cast<std::string>() == "bfloat16") return DType::bf16;
      break;
    default: break;
  }
  throw py::type_error(join(name, ": no attention on elements of type ") +
                       dtype.attr("name").cast<std::string>());
}

void require_axes(std::size_t ndim, std::string_view name) {
  if (ndim > Array::kMostAxes)
    throw py::value_error(join(name, " has ") + std::to_string(ndim) + " axes, at most " +
                          std::to_string(Array::kMostAxes) + " are possible");
}

Array from_numpy(const py::array& numpy, std::string_view name) {
  Array array;
  array.owner = numpy;
  array.data = const_cast<void*>(numpy.data());
  array.dtype = dtype_of_numpy(numpy.dtype(), name);
  array.ndim = static_cast<std::size_t>(numpy.ndim());
  require_axes(array.ndim, name);
  array.writable = numpy.writeable();
  const auto item = numpy.itemsize();
  for (std::size_t axis = 0; axis < array.ndim; ++axis) {
    array.shape[axis] = static_cast<std::size_t>(numpy.shape(axis));
    const auto stride = numpy.strides(axis);
    if (stride % item != 0)
      throw py::value_error(join(name, ": a stride is no multiple of the element size"));
    array.strides[axis] = stride / item;
  }
  return array;
}

DType dtype_of_dlpack(DLDataType type, std::string_view name) {
  if (type.lanes == 1) {
    if (type.code == 2 && type.bits == 32) return DType::f32;
    if (type.code == 2 && type.bits == 16) return DType::f16;
    if (type.code == 2 && type.bits == 64) return DType::f64;
    if (type.code == 4 && type.bits == 16) return DType::bf16;
    if (type.code == 6 && type.bits == 8) return DType::boolean;
    if (type.code == 0 && type.bits == 64) return DType::i64;
    if (type.code == 0 && type.bits == 32) return DType::i32;
  }
  throw py::type_error(join(name, ": no attention on DLPack elements of code ") +
                       std::to_string(type.code) + " and " + std::to_string(type.bits) + " bits");
}

Array from_dlpack(const py::object& object, std::string_view name) {
  const py::object exported = object.attr("__dlpack__")();
  auto* managed = static_cast<DLManagedTensor*>(
      PyCapsule_GetPointer(exported.ptr(), "dltensor"));  // raises if it is another capsule
  if (managed == nullptr) throw py::error_already_set();
  const DLTensor& tensor = managed->dl_tensor;
  if (tensor.device.device_type != kDLCPU)
    throw py::type_error(join(name, ": the tensor is not in CPU memory"));
  Array array;
  array.owner = exported;  // an unconsumed capsule frees its tensor with itself
  array.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  array.dtype = dtype_of_dlpack(tensor.dtype, name);
  array.ndim = static_cast<std::size_t>(tensor.ndim);
  require_axes(array.ndim, name);
  std::ptrdiff_t contiguous = 1;
  for (std::size_t axis = array.ndim; axis-- > 0;) {
    array.shape[axis] = static_cast<std::size_t>(tensor.shape[axis]);
    array.strides[axis] = tensor.strides == nullptr ? contiguous : tensor.strides[axis];
    contiguous *= tensor.shape[axis];
  }
  return array;
}

// NumPy's element type; bfloat16 comes from ml_dtypes.
py::dtype numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32: return py::dtype::of<float>();
    case DType::f64: return py::dtype::of<double>();
    case DType::f16: return py::dtype("f2");
    case DType::bf16: break;
    default: throw py::type_error(join("no arrays of ", name_of(dtype)));
  }
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  } catch (const py::error_already_set&) {
    throw py::type_error("NumPy has no bfloat16 without ml_dtypes: install it, or pass out=");
  }
}

// NumPy gives arrays without elements strides of 0.
bool last_axis_contiguous(const Array& array) {
  if (std::ranges::find(shape_of(array), 0u) != shape_of(array).end()) return true;
  return array.ndim == 0 || array.shape[array.ndim - 1] <= 1 || array.strides[array.ndim - 1] == 1;
}

// The array as NumPy sees it, in the same memory.
py::array numpy_of(const Array& array) {
  if (py::isinstance<py::array>(array.owner)) return array.owner;
  std::vector<py::ssize_t> shape, strides;
  for (std::size_t axis = 0; axis < array.ndim; ++axis) {
    shape.push_back(static_cast<py::ssize_t>(array.shape[axis]));
    strides.push_back(array.strides[axis] * static_cast<py::ssize_t>(size_of(array.dtype)));
  }
  return py::array(numpy_dtype(array.dtype), shape, strides, array.data, array.owner);
}

// The same in C order; only for arrays whose last axis is not contiguous.
Array contiguous_copy(const Array& array, std::string_view name) {
  return from_numpy(py::module_::import("numpy").attr("ascontiguousarray")(numpy_of(array)), name);
}

template <class View>
View tensor_of(const Array& array, std::string_view name) {
  require_rank(array, 2, 4, name, "2 to 4 axes: (..., tokens, dim)");
  View view;
  view.data = array.data;
  view.dtype = array.dtype;
  const auto size = [&](std::size_t from_end) {
    return from_end < array.ndim ? array.from_end(from_end) : 1;
  };
  const auto stride = [&](std::size_t from_end) {
    return from_end < array.ndim ? array.strides[array.ndim - 1 - from_end] : 0;
  };
  view.dim = size(0);
  view.tokens = size(1);
  view.heads = size(2);
  view.batch = size(3);
  view.token_stride = stride(1);
  view.head_stride = stride(2);
  view.batch_stride = stride(3);
  return view;
}

template <class View>
View ragged_of(const Array& array, std::string_view name) {
  require_rank(array, 3, 3, name, "(tokens, heads, dim) in a ragged batch");
  View view;
  view.data = array.data;
  view.dtype = array.dtype;
  view.batch = 1;
  view.tokens = array.shape[0];
  view.heads = array.shape[1];
  view.dim = array.shape[2];
  view.token_stride = array.strides[0];
  view.head_stride = array.strides[1];
  return view;
}

// `kinds` are NumPy's letters of the element types that are taken.
template <class T>
std::vector<T> vector_of(const py::object& object, std::string_view name, std::string_view kinds,
                         const char* expected) {
  const auto given = py::array::ensure(object);
  if (!given || (given.size() != 0 && kinds.find(given.dtype().kind()) == kinds.npos)) {
    PyErr_Clear();
    throw py::type_error(join(name, ": expected a list of ") + expected);
  }
  if (given.ndim() != 1)
    throw py::value_error(join(name, " has ") + std::to_string(given.ndim()) + " axes, expected 1");
  const auto array = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(given);
  return std::vector<T>(array.data(), array.data() + array.size());
}

}  // namespace

Array as_array(const py::object& object, std::string_view name) {
  if (py::isinstance<py::array>(object))
    return from_numpy(py::reinterpret_borrow<py::array>(object), name);
  if (py::hasattr(object, "__dlpack__")) return from_dlpack(object, name);
  if (PyObject_CheckBuffer(object.ptr()) != 0)
    return from_numpy(py::module_::import("numpy").attr("asarray")(object), name);
  throw py::type_error(join(name, ": expected an array (NumPy, DLPack or buffer), got ") +
                       py::str(py::type::of(object).attr("__name__")).cast<std::string>());
}

Array& with_contiguous_rows(Array& array, std::string_view name) {
  if (!last_axis_contiguous(array)) array = contiguous_copy(array, name);
  return array;
}

void require_output(const Array& array, std::string_view name) {
  if (!array.writable) throw py::value_error(join(name, " is read-only"));
  if (!last_axis_contiguous(array))
    throw py::value_error(join(name, ": the last axis must be contiguous"));
}

void require_rank(const Array& array, std::size_t least, std::size_t most, std::string_view name,
                  std::string_view expected) {
  if (array.ndim < least || array.ndim > most)
    throw py::value_error(join(name, " has shape ") + shape_text(array) +
                          join(", expected ", expected));
}

ConstTensorView input_tensor(Array& array, std::string_view name) {
  return tensor_of<ConstTensorView>(with_contiguous_rows(array, name), name);
}

TensorView output_tensor(const Array& array, std::string_view name) {
  require_output(array, name);
  return tensor_of<TensorView>(array, name);
}

ConstTensorView ragged_tensor(Array& array, std::string_view name) {
  return ragged_of<ConstTensorView>(with_contiguous_rows(array, name), name);
}

TensorView ragged_output(const Array& array, std::string_view name) {
  require_output(array, name);
  return ragged_of<TensorView>(array, name);
}

ScoreView score_view(const Array& array, std::string_view name) {
  require_rank(array, 0, 4, name, "at most (batch, heads, queries, keys)");
  ScoreView view;
  view.data = array.data;
  view.dtype = array.dtype;
  for (std::size_t axis = 0; axis < array.ndim; ++axis) {
    view.sizes[4 - array.ndim + axis] = array.shape[axis];
    view.strides[4 - array.ndim + axis] = array.strides[axis];
  }
  return view;
}

void require_same(const Array& array, DType dtype, std::span<const std::size_t> shape,
                  std::string_view name) {
  if (array.dtype != dtype)
    throw py::type_error(join(name, " is ") + join(name_of(array.dtype), ", expected ") +
                         std::string(name_of(dtype)));
  if (!std::ranges::equal(shape_of(array), shape))
    throw py::value_error(join(name, " has shape ") + shape_text(array) + ", expected " +
                          text_of(shape));
}

py::array new_array(DType dtype, std::span<const std::size_t> shape) {
  return py::array(numpy_dtype(dtype), std::vector<py::ssize_t>(shape.begin(), shape.end()));
}

FloatArray float_array(const py::object& object, std::string_view name) {
  const bool listed = py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object);
  const auto array = FloatArray::ensure(listed ? object : numpy_of(as_array(object, name)));
  if (array) return array;
  PyErr_Clear();
  throw py::type_error(join(name, ": expected numbers in lists of equal length"));
}

std::vector<std::int64_t> integers(const py::object& object, std::string_view name) {
  return vector_of<std::int64_t>(object, name, "iu", "integers");
}

std::vector<float> floats(const py::object& object, std::string_view name) {
  return vector_of<float>(object, name, "fiu", "numbers");
}

}  // namespace heed::python
