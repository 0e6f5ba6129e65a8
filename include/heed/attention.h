// heed::attention: the operator of options.h, exact, fused, in linear memory.
//
//   heed::attention(q, k, v, out, {.causal = heed::Causal::lower_right, .window_left = 4096});
//
//   q    [batch, query_heads, n_q, d_k]    f32, f16 or bf16; out has q's dtype
//   k    [batch, kv_heads,    n_k, d_k]    f32, f16 or bf16; query_heads % kv_heads == 0
//   v    [batch, kv_heads,    n_k, d_v]    k's dtype
//   out  [batch, query_heads, n_q, d_v]    shares no memory with anything that is read
// Arithmetic is f32 whatever the storage. The bits of the result do not depend on the number of
// threads, nor on what else is in the batch.
//
// Thread safety: attention() may be called from any number of threads. A Plan owns its workspace,
// so one Plan runs one problem at a time.
// Errors: heed::Error before anything is computed; Cancelled if the progress callback says so.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/error.h"
#include "heed/options.h"
#include "heed/view.h"

namespace heed {

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
               const AttentionOptions& options = {}, const Execution& execution = {});

// The same, giving also the logsumexp of every row (natural log) [batch, query_heads, n_q].
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out, RowView lse,
               const AttentionOptions& options = {}, const Execution& execution = {});

// Throws heed::Error if out or lse shares memory with an input, a mask, a bias, or within itself.
// attention() asks before it computes; for those who fill an `out` by other means.
void require_apart(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
                   RowView lse, const AttentionOptions& options);

// What a run is made of, known before it starts.
struct PlanInfo {
  std::string kernel;            // "prefill" or "decode"
  std::string target;            // instruction set: "AVX2", "AVX3", "SSE4", "NEON", "SCALAR", ...
  std::size_t tile_queries = 0;  // rows of one score tile
  std::size_t tile_keys = 0;     // columns of one score tile
  std::size_t key_splits = 1;    // decode: pieces the keys are cut into, then merged
  std::size_t tasks = 0;         // independent pieces of work
  std::size_t threads = 1;       // that will share them
  std::size_t workspace_bytes = 0;  // all the memory heed allocates for the run
  double flops = 0;                 // useful: 2 (d_k + d_v) per visible pair
  double bytes = 0;                 // inputs and outputs, each once
};

// A run prepared once for a shape, to be repeated without allocating, on any number of threads.
// (What oneTBB needs to wake threads it takes from pools of its own; it makes an arena anew only
// for runs that ask for more threads than the caller's arena has.)
class Plan {
 public:
  // Views give shapes, dtypes and strides; their data is not read.
  Plan(ConstTensorView q, ConstTensorView k, ConstTensorView v,
       const AttentionOptions& options = {}, const Execution& execution = {});
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  const PlanInfo& info() const;

  // Shapes, dtypes and the set of options as planned; data, lengths and masks may differ.
  void run(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
           RowView lse = {}, const AttentionOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Batch-parallel attention of one query per batch row, the keys serving as values too, unscaled:
//   out_b = sum_n softmax_n(keys_bn . query_b) * keys_bn
// keys [B, N, D] and query [B, D] to out [B, D], all f32 and contiguous. Each key is read once.
void selfish_attention(const float* keys, const float* query, float* out, std::size_t batch,
                       std::size_t tokens, std::size_t dim, const Execution& execution = {});

// Instruction sets this build can run on this machine, best first. HEED_FORCE_TARGET=NAME in the
// environment selects one of them.
std::vector<std::string> supported_targets();
std::string current_target();

}  // namespace heed
