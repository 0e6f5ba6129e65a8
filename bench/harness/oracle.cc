#include "bench/harness/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "heed/reference.h"

namespace heed::bench {
namespace {

// Enough rows for a maximum to mean something, and fewer of them where each is long.
std::size_t sampled_rows(const Shape& shape) {
  constexpr std::size_t kKeysInAll = std::size_t{1} << 17;
  return std::clamp<std::size_t>(kKeysInAll / shape.n_k, 4, 32);
}

// View of one token, or of a range of tokens, of one head of one batch row.
ConstTensorView part(ConstTensorView x, std::size_t batch, std::size_t head, std::size_t token,
                     std::size_t tokens) {
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(batch) * x.batch_stride +
                            static_cast<std::ptrdiff_t>(head) * x.head_stride +
                            static_cast<std::ptrdiff_t>(token) * x.token_stride;
  x.data =
      static_cast<const std::byte*>(x.data) + at * static_cast<std::ptrdiff_t>(size_of(x.dtype));
  x.batch = x.heads = 1;
  x.tokens = tokens;
  return x;
}

// One query of a problem with what it attends to.
struct RowProblem {
  ConstTensorView q, k, v;
  AttentionOptions options;
  std::vector<float> kept_k, kept_v;  // of i8: the numbers that the rows stand for
};

// Views one head of an i8 cache as the numbers that its rows stand for, kept in `numbers`.
ConstTensorView numbers_of(ConstTensorView rows, ScaleView scales, std::size_t batch,
                           std::size_t head, std::vector<float>& numbers) {
  const ConstTensorView one = part(rows, batch, head, 0, rows.tokens);
  const float* scale = scales.data + static_cast<std::ptrdiff_t>(batch) * scales.batch_stride +
                       static_cast<std::ptrdiff_t>(head) * scales.head_stride;
  numbers.clear();
  for (std::size_t t = 0; t < one.tokens; ++t)
    for (std::size_t c = 0; c < one.dim; ++c)
      numbers.push_back(scale[t] * static_cast<const std::int8_t*>(one.data)[t * one.dim + c]);
  return bhnd(std::as_const(numbers).data(), 1, 1, one.tokens, one.dim);
}

// The problem of query `token` alone, where its sequence starts at token `start` and has `n_k`
// keys.
RowProblem row_problem(const Problem& problem, std::size_t batch, std::size_t head,
                       std::size_t token, std::size_t start, std::size_t n_k) {
  const Shape& shape = problem.shape;
  const std::size_t kv_head = head / (shape.query_heads / shape.kv_heads);
  RowProblem row{part(problem.q, batch, head, token, 1),
                 part(problem.k, batch, kv_head, start, n_k),
                 part(problem.v, batch, kv_head, start, n_k),
                 problem.options(),
                 {},
                 {}};
  if (problem.cache != nullptr) {
    const KVCache& cache = *problem.cache;
    row.k = numbers_of(problem.k, cache.key_scales(), batch, kv_head, row.kept_k);
    row.v = numbers_of(problem.v, cache.value_scales(), batch, kv_head, row.kept_v);
  }
  row.options.cu_seqlens_q = row.options.cu_seqlens_k = {};
  if (shape.causal) row.options.query_offset = static_cast<std::int64_t>(token - start);
  if (row.options.bias) {
    ScoreView& bias = row.options.bias;
    bias.data = static_cast<const float*>(bias.data) +
                static_cast<std::ptrdiff_t>(head) * bias.strides[1] +
                static_cast<std::ptrdiff_t>(token) * bias.strides[2];
    bias.sizes = {1, 1, 1, n_k};
  }
  return row;
}

// The plain result in floats. Over int8, queries and weights are rounded to 16 bits, and so they
// are here, to f16.
std::vector<float> plain_result(const RowProblem& row) {
  if (row.kept_k.empty())
    return reference::attention<float>(row.q, row.k, row.v, row.options).o.values;
  std::vector<float> q(row.q.dim), o(row.v.dim, 0.0f);
  for (std::size_t c = 0; c < q.size(); ++c)
    q[c] = to_float(to_f16(static_cast<const float*>(row.q.data)[c]));
  const auto whole = reference::attention<float>(bhnd(std::as_const(q).data(), 1, 1, 1, q.size()),
                                                 row.k, row.v, row.options);
  for (std::size_t j = 0; j < row.v.tokens; ++j)
    for (std::size_t c = 0; c < o.size(); ++c)
      o[c] += to_float(to_f16(whole.p.values[j])) * row.kept_v[j * o.size() + c];
  return o;
}

}  // namespace

Oracle::Oracle(const Problem& problem) {
  problem.shape.kind == Kind::layer ? add_layer_rows(problem) : add_rows(problem);
}

// Every so many tokens of the first batch row are the queries, all of them the context.
void Oracle::add_layer_rows(const Problem& problem) {
  constexpr std::size_t kTokens = 8;
  const Shape& shape = problem.shape;
  const std::size_t d = model_dim(shape), heads = shape.query_heads;
  const auto* w_q = static_cast<const float*>(problem.k.data);
  const auto* w_v = static_cast<const float*>(problem.v.data);
  const reference::Weights weights = {.w_q = bnhd(w_q, 1, d, heads, shape.head_dim),
                                      .w_k = bnhd(w_q + d * d, 1, d, heads, shape.head_dim),
                                      .w_v = bnhd(w_v, 1, d, heads, shape.head_dim),
                                      .w_o = bhnd(w_v + d * d, 1, 1, d, d)};
  const ConstTensorView x = bhnd(static_cast<const float*>(problem.q.data), 1, 1, shape.n_q, d);
  const std::size_t step = std::max<std::size_t>(1, shape.n_q / kTokens);
  ConstTensorView queries = x;
  queries.tokens = shape.n_q / step;
  queries.token_stride *= static_cast<std::ptrdiff_t>(step);
  const auto truth = reference::multi_head<double>(queries, x, weights, problem.options()).y;
  const auto plain = reference::multi_head<float>(queries, x, weights, problem.options()).y;
  for (std::size_t n = 0; n < truth.values.size(); ++n)
    plain_error_ = std::max(plain_error_, std::abs(double{plain.values[n]} - truth.values[n]));
  for (std::size_t i = 0; i < queries.tokens; ++i) {
    const auto row = truth.values.begin() + static_cast<std::ptrdiff_t>(i * d);
    rows_.push_back({0, 0, i * step, {row, row + static_cast<std::ptrdiff_t>(d)}});
  }
}

void Oracle::add_rows(const Problem& problem) {
  const Shape& shape = problem.shape;
  const std::size_t count = sampled_rows(shape);
  for (std::size_t n = 0; n < count; ++n) {
    // Spread over sequences, heads and tokens; steps without a common factor with the sizes mix
    // them. The first row and the last are among them.
    const bool last = n + 1 == count;
    const std::size_t sequence = last ? shape.batch - 1 : n * 37 % shape.batch;
    const std::size_t head = last ? shape.query_heads - 1 : n * 5 % shape.query_heads;
    std::size_t start = 0, n_q = shape.n_q, n_k = shape.n_k;
    if (shape.shortest != 0) {
      start = static_cast<std::size_t>(problem.cu_seqlens[sequence]);
      n_q = n_k = static_cast<std::size_t>(problem.cu_seqlens[sequence + 1]) - start;
    }
    const std::size_t batch = shape.shortest == 0 ? sequence : 0;
    const std::size_t token = start + (last ? n_q - 1 : n * 7919 % n_q);
    const RowProblem row = row_problem(problem, batch, head, token, start, n_k);
    const auto truth = reference::attention<double>(row.q, row.k, row.v, row.options);
    const std::vector<float> plain = plain_result(row);
    for (std::size_t c = 0; c < shape.head_dim; ++c)
      plain_error_ = std::max(plain_error_, std::abs(double{plain[c]} - truth.o.values[c]));
    rows_.push_back({batch, head, token, truth.o.values});
  }
}

Accuracy Oracle::check(ConstTensorView answer) const {
  Accuracy accuracy{.error = 0, .plain_error = plain_error_};
  for (const Row& row : rows_) {
    const auto* o = static_cast<const float*>(part(answer, row.batch, row.head, row.token, 1).data);
    for (std::size_t c = 0; c < row.truth.size(); ++c) {
      const double error = std::abs(double{o[c]} - row.truth[c]);
      accuracy.error = std::isnan(error) ? std::numeric_limits<double>::infinity()
                                         : std::max(accuracy.error, error);
      if (std::isinf(accuracy.error)) return accuracy;
    }
  }
  return accuracy;
}

}  // namespace heed::bench
