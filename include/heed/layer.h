// The multi-head layer: projections, heads, the operator of options.h, and the output.
//
//   heed::MultiHeadAttention layer(
//       {.d_model = 512, .query_heads = 8},
//       {.query = in_out(w_q, 512, 512), .key = in_out(w_k, 512, 512),
//        .value = in_out(w_v, 512, 512), .output = in_out(w_o, 512, 512)});
//   layer.self_attention(x, out, {.attention = {.causal = heed::Causal::upper_left}});
//   layer.cross_attention(y, z, out);
//
// For query head h of T, its key/value head g = h / (T / kv_heads), key size m, value size l:
//   1. Q = y W_Q + b_Q   [n_q, T m]          K = z W_K + b_K   [n_k, kv_heads m]
//      V = z W_V + b_V   [n_k, kv_heads l]   with y = z = x in self-attention
//   2. QK-norm, then RoPE, of each head's rows of Q and K, if given (rotary.h)
//   3. Y_h = attention(Q_h, K_g, V_g)        [n_q, l]
//   4. out = [Y_0 ... Y_{T-1}] W_O + b_O     [n_q, d_model]
//
// Arithmetic is f32 whatever the storage. The bits of a row of `out` do not depend on the number
// of threads, on how weights are stored, nor on what else is in the batch.
//
// Thread safety: a MultiHeadAttention is immutable and cheap to copy; any number of threads may use
// one. A LayerPlan or LayerProjections owns its workspace: one run at a time.
// Errors: heed::Error before anything is computed, naming both values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "heed/attention.h"
#include "heed/dtype.h"
#include "heed/error.h"
#include "heed/options.h"
#include "heed/rotary.h"
#include "heed/view.h"

namespace heed {

// --- Views -------------------------------------------------------------------------------------

// Token vectors [batch, tokens, dim], f32, f16 or bf16; dim contiguous, strides in elements.
template <class Pointer>
struct BasicSequenceView {
  Pointer data = nullptr;
  DType dtype = DType::f32;
  std::size_t batch = 0, tokens = 0, dim = 0;
  std::ptrdiff_t batch_stride = 0, token_stride = 0;

  // A writable view is also a readable one.
  operator BasicSequenceView<const void*>() const {
    return {data, dtype, batch, tokens, dim, batch_stride, token_stride};
  }
};
using SequenceView = BasicSequenceView<void*>;
using ConstSequenceView = BasicSequenceView<const void*>;

// Contiguous [batch, tokens, dim].
template <class T>
std::conditional_t<std::is_const_v<T>, ConstSequenceView, SequenceView> sequences(
    T* data, std::size_t batch, std::size_t tokens, std::size_t dim) {
  const auto n = static_cast<std::ptrdiff_t>(tokens), d = static_cast<std::ptrdiff_t>(dim);
  return {data, dtype_of<std::remove_const_t<T>>, batch, tokens, dim, n * d, d};
}

// A weight matrix that maps `in` numbers to `out` numbers, f32, f16 or bf16, in either order.
struct WeightView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::size_t in = 0, out = 0;
  std::ptrdiff_t in_stride = 0, out_stride = 0;  // in elements
};

// Contiguous [in, out], as in x W: one row per input (the notation above, JAX, GPT-2 files).
template <class T>
WeightView in_out(const T* data, std::size_t in, std::size_t out) {
  return {data, dtype_of<T>, in, out, static_cast<std::ptrdiff_t>(out), 1};
}

// Contiguous [out, in]: one row per output (the weight of PyTorch's nn.Linear).
template <class T>
WeightView out_in(const T* data, std::size_t out, std::size_t in) {
  return {data, dtype_of<T>, in, out, 1, static_cast<std::ptrdiff_t>(in)};
}

// --- The layer ---------------------------------------------------------------------------------

struct MultiHeadConfig {
  std::size_t d_model = 0;                    // size of a token of x, y and out
  std::optional<std::size_t> d_context = {};  // size of a token of z; default d_model
  std::size_t query_heads = 0;                // T
  std::optional<std::size_t> kv_heads = {};   // divides query_heads; default query_heads
  std::optional<std::size_t> key_dim = {};    // m; default d_model / query_heads
  std::optional<std::size_t> value_dim = {};  // l; default key_dim
  std::optional<Rotary> rotary = {};
  std::optional<QkNorm> qk_norm = {};
};

// Head h of `query` is columns [h m, (h + 1) m) of W_Q, and so on.
struct MultiHeadWeights {
  WeightView query = {};   // W_Q  d_model -> T m
  WeightView key = {};     // W_K  d_context -> kv_heads m
  WeightView value = {};   // W_V  d_context -> kv_heads l
  WeightView output = {};  // W_O  T l -> d_model
  VectorView query_bias = {}, key_bias = {}, value_bias = {}, output_bias = {};
};

// Speed only; the bits of the result are the same.
enum class WeightStorage : std::uint8_t {
  packed,  // copied once, in their dtype, into the order the kernel reads
  view,    // read in place by every run, reordered on the way: they must outlive the layer
};

// Where tokens stand, for RoPE: token i at first + i, or as listed ([tokens], or [batch * tokens]).
struct Positions {
  std::int64_t first = 0;
  std::span<const std::int64_t> each = {};
};

// Behaviour of one run.
struct LayerOptions {
  AttentionOptions attention = {};
  // Default: key j of a sequence stands at j, query i at i + offset, the offset of the operator.
  std::optional<Positions> query_positions = {}, key_positions = {};
};

class MultiHeadAttention {
 public:
  MultiHeadAttention(const MultiHeadConfig& config, const MultiHeadWeights& weights,
                     WeightStorage storage = WeightStorage::packed);

  // The sizes, with every default filled in.
  std::size_t d_model() const;
  std::size_t d_context() const;
  std::size_t query_heads() const;
  std::size_t kv_heads() const;
  std::size_t key_dim() const;
  std::size_t value_dim() const;

  // Numbers in the weights, biases and norms. Without the last two, and T = kv_heads and
  // d_context = d_model = d, that is d (2m + l) T + T l d.
  std::size_t parameter_count() const;

  // Memory the layer itself holds (0 for weights that are views).
  std::size_t weight_bytes() const;

  // x, out [batch, n, d_model]; out may be x itself.
  void self_attention(ConstSequenceView x, SequenceView out, const LayerOptions& options = {},
                      const Execution& execution = {}) const;

  // Queries from y [batch, n_q, d_model], keys and values from z [batch, n_k, d_context].
  void cross_attention(ConstSequenceView y, ConstSequenceView z, SequenceView out,
                       const LayerOptions& options = {}, const Execution& execution = {}) const;

 private:
  friend class LayerProjections;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// --- Prepared runs -----------------------------------------------------------------------------

// What a run of a layer is made of, known before it starts.
struct LayerPlanInfo {
  PlanInfo attention;               // step 3
  std::string target;               // instruction set of the projections
  std::size_t threads = 1;          // that the projections share
  std::size_t workspace_bytes = 0;  // all the memory heed allocates for the run
  double flops = 0;                 // projections and attention
  double bytes = 0;                 // weights, inputs and output, each once
};

// A run prepared once for a shape, to be repeated without allocating.
class LayerPlan {
 public:
  // Self-attention: key_tokens == query_tokens. `options` as for Plan: the set of them is planned.
  LayerPlan(const MultiHeadAttention& layer, std::size_t batch, std::size_t query_tokens,
            std::size_t key_tokens, const LayerOptions& options = {},
            const Execution& execution = {});
  ~LayerPlan();
  LayerPlan(LayerPlan&&) noexcept;
  LayerPlan& operator=(LayerPlan&&) noexcept;

  const LayerPlanInfo& info() const;

  void self_attention(ConstSequenceView x, SequenceView out, const LayerOptions& options = {});
  void cross_attention(ConstSequenceView y, ConstSequenceView z, SequenceView out,
                       const LayerOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The layer without the attention in its middle, for callers who keep keys and values themselves:
//
//   auto [q, k, v] = steps.project(x, {.first = cache.length()});  // steps 1 and 2
//   cache.append(k, v);
//   heed::attention(q, cache, steps.heads(), options);             // kv_cache.h
//   steps.output(out);                                             // step 4
//
// Every projection of a call is one product: x is read once for Q, K and V.
class LayerProjections {
 public:
  LayerProjections(const MultiHeadAttention& layer, std::size_t batch, std::size_t query_tokens,
                   std::size_t key_tokens, const Execution& execution = {});
  ~LayerProjections();
  LayerProjections(LayerProjections&&) noexcept;
  LayerProjections& operator=(LayerProjections&&) noexcept;

  // Views into the workspace, f32, valid until the next call that projects the same of them.
  struct Heads {
    ConstTensorView q;  // [batch, query_heads, query_tokens, key_dim]
    ConstTensorView k;  // [batch, kv_heads, key_tokens, key_dim]
    ConstTensorView v;  // [batch, kv_heads, key_tokens, value_dim]
  };
  Heads project(ConstSequenceView x, const Positions& positions = {});
  Heads project(ConstSequenceView y, ConstSequenceView z, const Positions& query_positions = {},
                const Positions& key_positions = {});
  ConstTensorView project_queries(ConstSequenceView y, const Positions& positions = {});
  struct KeysValues {
    ConstTensorView k, v;
  };
  KeysValues project_context(ConstSequenceView z, const Positions& positions = {});

  // Where the attention's output goes [batch, query_heads, query_tokens, value_dim], f32.
  TensorView heads();
  void output(SequenceView out);

  std::size_t workspace_bytes() const;

 private:
  friend class LayerPlan;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed
