// The DLPack ABI (version 0.x of the protocol, PyCapsule "dltensor"): the structs as they lie in
// memory.
#pragma once

#include <cstdint>

namespace heed::python {

struct DLDevice {
  std::int32_t device_type;  // 1: CPU
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 6 bool
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

inline constexpr std::int32_t kDLCPU = 1;

}  // namespace heed::python
