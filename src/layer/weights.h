// The parameters of a layer, checked once and ready for the kernels.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "heed/layer.h"
#include "kernels/gemm.h"
#include "kernels/rope.h"
#include "kernels/targets.h"

namespace heed {

// x W + b. The weight is packed into memory of its own, or a view of the caller's.
struct Projection {
  kernels::Weight weight;
  AlignedBuffer<std::byte> packed;
  AlignedBuffer<float> bias;  // filled up to whole panels; empty: none

  std::size_t bytes() const { return packed.size() + bias.size() * sizeof(float); }
};

// Weights of the RMS norm of the queries or of the keys; empty: no norm.
struct NormWeight {
  AlignedBuffer<float> weight;
  float epsilon = 0;

  kernels::RowNorm row_norm() const { return {weight.data(), epsilon}; }
};

struct MultiHeadAttention::Impl {
  Impl(const MultiHeadConfig& config, const MultiHeadWeights& weights, WeightStorage storage);

  kernels::Target target;
  std::size_t d_model, d_context, query_heads, kv_heads, key_dim, value_dim;
  Projection query, key, value, output;
  NormWeight query_norm, key_norm;
  std::size_t turning = 0;          // leading numbers of a row of Q and K that turn; 0: no RoPE
  std::vector<double> frequencies;  // of the turning / 2 pairs, per position
  RotaryPairs pairs = RotaryPairs::half_split;
  std::size_t parameters = 0;
};

}  // namespace heed
