// What may happen to queries and keys between their projection and the attention: RMS norm, then
// rotary position embedding (RoPE). Used by layer.h and, in double, by reference.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "heed/dtype.h"

namespace heed {

// A contiguous vector, f32, f16 or bf16. Empty (data == nullptr) means: none.
struct VectorView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::size_t size = 0;

  explicit operator bool() const { return data != nullptr; }
};
template <class T>
VectorView vector_of(const T* data, std::size_t size) {
  return {data, dtype_of<T>, size};
}

// Root-mean-square norm of each head's row:  q <- q / sqrt(mean(q^2) + epsilon) * weight.
struct QkNorm {
  VectorView query = {}, key = {};  // weights [head_dim], shared by all heads; none: 1
  double epsilon = 1e-6;            // >= 0
};

// Which two numbers of a head's row turn together as pair c.
//   half_split    c and c + dims / 2     (GPT-NeoX, Llama as Hugging Face stores it)
//   interleaved   2c and 2c + 1          (RoFormer, GPT-J, Llama as Meta stores it)
enum class RotaryPairs : std::uint8_t { half_split, interleaved };

// In a token at position p, pair c turns by the angle t = p / scaling * base^(-2c / dims):
//   (a, b) <- (a cos t - b sin t, b cos t + a sin t)
struct Rotary {
  double base = 10000.0;  // > 0
  double scaling = 1.0;   // linear: positions are divided by it; > 0
  RotaryPairs pairs = RotaryPairs::half_split;
  std::optional<std::size_t> dims = {};      // leading numbers of a row that turn; even; all
  std::span<const double> frequencies = {};  // dims / 2 of them, in place of base^(-2c / dims)
};

}  // namespace heed
