// Inputs: the numbers that the named shapes are measured on, made once and shared by all of them.
//
// Every shape's tensors are windows onto the front of the same few buffers, so that measuring all
// shapes in turns needs no more memory than the largest one. The numbers look normal (mean 0,
// deviation 1) and are the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/shapes.h"
#include "heed/kv_cache.h"
#include "heed/options.h"
#include "heed/view.h"

namespace heed::bench {

// One shape with its tensors; out is given where it is run. Lives as long as its Inputs.
// Of a layer, q is the input x [batch, heads, tokens, head_dim] token by token, k holds W_Q and W_K
// and v holds W_V and W_O, each [in, out]: [1, 2, d_model, d_model].
struct Problem {
  Shape shape;
  ConstTensorView q, k, v;
  const KVCache* cache = nullptr;        // i8: where k and v lie, with their scales
  std::vector<std::int64_t> cu_seqlens;  // [sequences + 1] where the shape is ragged
  ScoreView bias;

  AttentionOptions options() const;  // views into this problem
};

// The view of `data` as the output of a problem: laid out as its queries are.
TensorView output_view(const Problem& problem, float* data);
std::size_t output_size(const Shape& shape);

class Inputs {
 public:
  explicit Inputs(std::span<const Shape> shapes);

  Problem problem(const Shape& shape) const;

  // The keys and values of a shape, one after the other, as plain memory; of i8, as much of it.
  std::span<const std::byte> kv_memory(const Shape& shape) const;

 private:
  AlignedVector<float> queries_, bias_, kv_f32_;
  AlignedVector<f16> kv_f16_;
  AlignedVector<bf16> kv_bf16_;
  std::map<std::string, KVCache> caches_;  // of the i8 shapes, by label
};

}  // namespace heed::bench
