// The multi-head layer: 1. project, 2. norm and turn, 3. attend, 4. lay the heads side by side,
// 5. project back.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/checks.h"
#include "base/problem.h"
#include "base/rotary.h"
#include "heed/reference.h"
#include "reference/matrix.h"
#include "reference/rope.h"

namespace heed::reference {
namespace {

bool given(ConstTensorView view) {
  return view.data != nullptr;
}

void require_weight(std::string_view name, ConstTensorView w) {
  require_tensor(name, w);
  require(w.batch == 1, "multi_head: ", name, " has batch ", w.batch, ", expected 1");
  require_data(name, w);
}

// One number per column of the projection.
void require_bias(std::string_view name, ConstTensorView b, std::string_view of,
                  ConstTensorView w) {
  if (!given(b)) return;
  require_weight(name, b);
  require(b.heads == w.heads && b.tokens == 1 && b.dim == w.dim, "multi_head: ", name, " is [",
          b.heads, ", ", b.tokens, ", ", b.dim, "] but ", of, " needs [", w.heads, ", 1, ", w.dim,
          "]");
}

void require_projection(std::string_view x_name, ConstTensorView x, std::string_view w_name,
                        ConstTensorView w, std::string_view b_name, ConstTensorView b) {
  require_weight(w_name, w);
  require(x.dim == w.tokens, "multi_head: ", x_name, " has ", x.dim, " columns but ", w_name,
          " has ", w.tokens, " rows");
  require_bias(b_name, b, w_name, w);
}

void require_input(std::string_view name, ConstTensorView x) {
  require_tensor(name, x);
  require(x.heads == 1, "multi_head: ", name, " has ", x.heads, " heads, expected 1");
  require_data(name, x);
}

void require_layer(ConstTensorView x, ConstTensorView context, const Weights& w) {
  require_input("x", x);
  require_input("context", context);
  require_projection("x", x, "W_Q", w.w_q, "b_Q", w.b_q);
  require_projection("context", context, "W_K", w.w_k, "b_K", w.b_k);
  require_projection("context", context, "W_V", w.w_v, "b_V", w.b_v);
  if (!given(w.w_o)) {
    require(!given(w.b_o), "multi_head: b_O has ", w.b_o.dim, " values but there is no W_O");
    return;
  }
  ConstTensorView heads;  // the shape of concat
  heads.dim = checked_product("multi_head: heads", {w.w_q.heads, w.w_v.dim});
  require(w.w_o.heads == 1, "multi_head: W_O has ", w.w_o.heads, " heads, expected 1");
  require_projection("concat", heads, "W_O", w.w_o, "b_O", w.b_o);
}

// x W + b for every head of W: [batch, heads, n, cols of W].
template <class T>
Tensor<T> project(ConstTensorView x, ConstTensorView w, ConstTensorView b) {
  Tensor<T> result = zeros<T>(x.batch, w.heads, x.tokens, w.dim);
  for (std::size_t h = 0; h < w.heads; ++h) {
    const Matrix<T> weight = matrix_of<T>(w, 0, h, 0, w.tokens);
    const Matrix<T> bias = given(b) ? matrix_of<T>(b, 0, h, 0, 1) : Matrix<T>(1, w.dim);
    for (std::size_t n = 0; n < x.batch; ++n) {
      const Matrix<T> row = matrix_of<T>(x, n, 0, 0, x.tokens);
      for (std::size_t i = 0; i < x.tokens; ++i)
        for (std::size_t c = 0; c < w.dim; ++c) {
          T sum = 0;
          for (std::size_t r = 0; r < w.tokens; ++r) sum += row(i, r) * weight(r, c);
          result.at(n, h, i, c) = given(b) ? sum + bias(0, c) : sum;
        }
    }
  }
  return result;
}

template <class T>
ConstTensorView view_of(const Tensor<T>& t) {
  return bhnd(t.values.data(), t.batch, t.heads, t.rows, t.cols);
}

// The heads of each token side by side, each sequence back where its tokens stand in x.
template <class T>
Tensor<T> concatenate(const Problem& problem, ConstTensorView x, const Tensor<T>& o) {
  Tensor<T> result = zeros<T>(x.batch, 1, x.tokens, o.heads * o.cols);
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    const Sequence& s = problem.sequences[n];
    for (std::size_t h = 0; h < o.heads; ++h)
      for (std::size_t i = 0; i < s.queries; ++i)
        for (std::size_t c = 0; c < o.cols; ++c)
          result.at(s.batch, 0, s.first_query + i, h * o.cols + c) = o.at(n, h, i, c);
  }
  return result;
}

template <class T>
void finish(MultiHead<T>& r, const Problem& problem, const HeadSteps& steps) {
  if (steps.qk_norm) {
    require_norm(*steps.qk_norm, r.q.cols);
    norm_rows(r.q_finished, steps.qk_norm->query, steps.qk_norm->epsilon);
    norm_rows(r.k_finished, steps.qk_norm->key, steps.qk_norm->epsilon);
  }
  if (!steps.rotary) return;
  std::vector<std::int64_t> queries(r.q.batch * r.q.rows), keys(r.k.batch * r.k.rows);
  place_queries(problem, r.q.rows, queries);
  place_keys(problem, r.k.rows, keys);
  const auto given_or = [](std::span<const std::int64_t> positions,
                           std::span<const std::int64_t> others) {
    return positions.empty() ? others : positions;
  };
  turn_rows(r.q_finished, *steps.rotary, given_or(steps.query_positions, queries));
  turn_rows(r.k_finished, *steps.rotary, given_or(steps.key_positions, keys));
}

std::size_t numbers_in(ConstTensorView w) {
  return checked_product("multi_head: weights", {w.heads, w.tokens, w.dim});
}

}  // namespace

ParameterCount parameter_count(const Weights& w) {
  return {.heads = numbers_in(w.w_q) + numbers_in(w.w_k) + numbers_in(w.w_v),
          .output = numbers_in(w.w_o),
          .biases = numbers_in(w.b_q) + numbers_in(w.b_k) + numbers_in(w.b_v) + numbers_in(w.b_o)};
}

template <class T>
MultiHead<T> multi_head(ConstTensorView x, ConstTensorView context, const Weights& weights,
                        const AttentionOptions& options, const HeadSteps& steps) {
  require_layer(x, context, weights);
  MultiHead<T> result;
  result.q = result.q_finished = project<T>(x, weights.w_q, weights.b_q);
  result.k = result.k_finished = project<T>(context, weights.w_k, weights.b_k);
  result.v = project<T>(context, weights.w_v, weights.b_v);
  const auto q = view_of(result.q_finished), k = view_of(result.k_finished), v = view_of(result.v);
  const Problem problem = describe(q, k, v, options);
  finish(result, problem, steps);
  result.attention = attention<T>(q, k, v, options);
  result.concat = concatenate(problem, x, result.attention.o);
  if (given(weights.w_o)) result.y = project<T>(view_of(result.concat), weights.w_o, weights.b_o);
  return result;
}

template MultiHead<double> multi_head<double>(ConstTensorView, ConstTensorView, const Weights&,
                                              const AttentionOptions&, const HeadSteps&);
template MultiHead<float> multi_head<float>(ConstTensorView, ConstTensorView, const Weights&,
                                            const AttentionOptions&, const HeadSteps&);

}  // namespace heed::reference
