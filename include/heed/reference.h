// The reference: the operator of options.h written as it is defined, in double or in plain float,
// with every intermediate kept. It is the oracle of the tests and the source of every explanation;
// it stores n_q x n_k scores per head (for_each_block: a few rows) and takes its time. For speed
// use attention.h.
//
// Double results are the same bits on every platform: sums run in index order without contraction,
// and exp, log, tanh, sin and cos are heed's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "heed/error.h"
#include "heed/options.h"
#include "heed/rotary.h"
#include "heed/view.h"

namespace heed::reference {

// Owning, contiguous [batch, heads, rows, cols].
template <class T>
struct Tensor {
  std::size_t batch = 0, heads = 0, rows = 0, cols = 0;
  std::vector<T> values;

  T& at(std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    return values[((b * heads + h) * rows + i) * cols + j];
  }
  const T& at(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    return values[((b * heads + h) * rows + i) * cols + j];
  }
};

// Every step of the operator. In a ragged batch, `batch` counts sequences and shorter ones are
// padded with 0 at the end.
template <class T>
struct Attention {
  Tensor<T> raw;                 // q_i . k_j, before the scale
  Tensor<T> scaled;              // step 1
  Tensor<T> capped;              // step 2 (equal to scaled without a softcap)
  Tensor<T> biased;              // step 3
  Tensor<std::uint8_t> visible;  // step 4: 1 or 0
  Tensor<T> p;                   // step 5
  Tensor<T> lse;                 // [batch, heads, n_q, 1]
  Tensor<T> o;                   // step 6
};

// Inputs f32, f16, bf16 or f64, converted exactly. T is double (the oracle) or float (the plain
// three-step computation whose error is the yardstick of the kernels).
template <class T>
Attention<T> attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options = {});
extern template Attention<double> attention<double>(ConstTensorView, ConstTensorView,
                                                    ConstTensorView, const AttentionOptions&);
extern template Attention<float> attention<float>(ConstTensorView, ConstTensorView, ConstTensorView,
                                                  const AttentionOptions&);

// Some rows of one head of one sequence, every step kept: tensors of [1, 1, rows, ...].
struct Block {
  std::size_t sequence = 0, batch = 0, head = 0;
  std::size_t first_row = 0;    // of the sequence
  std::size_t first_token = 0;  // of q, the same row
  const Attention<double>& steps;
};

// The reference in double for problems whose scores are too many to keep: calls `use` for block
// after block, sequences, heads and rows in order, each of so many rows that its steps take about
// `block_bytes`. The numbers are those of attention<double>. `progress` hears of every block and
// may stop the run, which then throws Cancelled.
void for_each_block(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                    const AttentionOptions& options, const Progress& progress,
                    const std::function<void(const Block&)>& use,
                    std::size_t block_bytes = std::size_t{8} << 20);

// Batch-parallel attention of one query per batch row, the keys serving as values too, unscaled:
// keys [B, N, D] and query [B, D], contiguous, to o [B, 1, 1, D] (raw are the scores, p the
// weights).
template <class T, class Element>
Attention<T> selfish_attention(const Element* keys, const Element* query, std::size_t batch,
                               std::size_t tokens, std::size_t dim) {
  const ConstTensorView k = bhnd(keys, batch, 1, tokens, dim);
  return attention<T>(bhnd(query, batch, 1, 1, dim), k, k, {.scale = 1.0f});
}

// A multi-head layer: T query heads on T_kv key/value heads, key size m, value size l.
// Head h projects with a matrix of its own, [d, m] or [d, l]. In memory the heads lie one after the
// other, bhnd(w, 1, T, d, m), or side by side in one [d, T m] matrix, bnhd(w, 1, d, T, m).
struct Weights {
  ConstTensorView w_q;                           // [1, T, d, m]
  ConstTensorView w_k;                           // [1, T_kv, d_context, m]
  ConstTensorView w_v;                           // [1, T_kv, d_context, l]
  ConstTensorView w_o = {};                      // [1, 1, T l, d_out]; none: stop at concat
  ConstTensorView b_q = {}, b_k = {}, b_v = {};  // [1, T or T_kv, 1, m or l]; none: 0
  ConstTensorView b_o = {};                      // [1, 1, 1, d_out]; none: 0
};

// How many numbers there are to learn: with T_kv = T and one model size d,
// heads = d (2m + l) T and output = T l d.
struct ParameterCount {
  std::size_t heads = 0, output = 0, biases = 0;
  std::size_t total() const { return heads + output + biases; }
};
ParameterCount parameter_count(const Weights& weights);

// What happens to q and k between projection and attention: QK-norm, then RoPE (rotary.h).
struct HeadSteps {
  std::optional<QkNorm> qk_norm = {};
  std::optional<Rotary> rotary = {};
  // One per token of x and of context, [batch * n]. Default: key j of a sequence stands at j,
  // query i at i + offset, the offset of the operator.
  std::span<const std::int64_t> query_positions = {}, key_positions = {};
};

// Every step of the layer. Batch and tokens are those of x, ragged or not.
template <class T>
struct MultiHead {
  Tensor<T> q;             // x W_Q + b_Q            [batch, T, n_q, m]
  Tensor<T> k, v;          // context W_K + b_K, ... [batch, T_kv, n_k, m or l]
  Tensor<T> q_finished;    // q after QK-norm and RoPE, as the attention reads it
  Tensor<T> k_finished;    // k likewise
  Attention<T> attention;  // of all heads
  Tensor<T> concat;        // the o of every head side by side [batch, 1, n_q, T l]
  Tensor<T> y;             // concat W_O + b_O       [batch, 1, n_q, d_out], or empty
};

// Cross-attention: queries from x [batch, 1, n_q, d], keys and values from context
// [batch, 1, n_k, d_context].
template <class T>
MultiHead<T> multi_head(ConstTensorView x, ConstTensorView context, const Weights& weights,
                        const AttentionOptions& options = {}, const HeadSteps& steps = {});
extern template MultiHead<double> multi_head<double>(ConstTensorView, ConstTensorView,
                                                     const Weights&, const AttentionOptions&,
                                                     const HeadSteps&);
extern template MultiHead<float> multi_head<float>(ConstTensorView, ConstTensorView, const Weights&,
                                                   const AttentionOptions&, const HeadSteps&);

// Self-attention: all of them from x.
template <class T>
MultiHead<T> multi_head(ConstTensorView x, const Weights& weights,
                        const AttentionOptions& options = {}, const HeadSteps& steps = {}) {
  return multi_head<T>(x, x, weights, options, steps);
}

}  // namespace heed::reference
