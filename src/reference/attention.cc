// The operator of options.h, pass by pass, each pass over the whole score matrix of one head. The
// numbers of the passes are those of the definition.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/problem.h"
#include "heed/reference.h"
#include "reference/math.h"
#include "reference/matrix.h"

namespace heed::reference {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// One head of one sequence; `n` and `h` index the results.
template <class T>
struct Head {
  const Problem& problem;
  const AttentionOptions& options;
  const Sequence& sequence;
  std::size_t n = 0, h = 0;
  Attention<T>& result;

  std::size_t n_q() const { return sequence.queries; }
  std::size_t n_k() const { return sequence.keys; }

  // Where `view` holds the entry of query i and key j.
  std::ptrdiff_t index(const ScoreView& view, std::size_t i, std::size_t j) const {
    const std::size_t at[4] = {n, h, i, j};
    std::ptrdiff_t sum = 0;
    for (std::size_t axis = 0; axis < 4; ++axis)
      sum += static_cast<std::ptrdiff_t>(at[axis]) * view.strides[axis];
    return sum;
  }
};

// 1. s_ij = scale * (q_i . k_j)
template <class T>
void scale_scores(Head<T>& head, const Matrix<T>& q, const Matrix<T>& k) {
  const T scale = static_cast<T>(head.problem.scale);
  for (std::size_t i = 0; i < head.n_q(); ++i)
    for (std::size_t j = 0; j < head.n_k(); ++j) {
      T dot = 0;
      for (std::size_t c = 0; c < q.cols; ++c) dot += q(i, c) * k(j, c);
      head.result.raw.at(head.n, head.h, i, j) = dot;
      head.result.scaled.at(head.n, head.h, i, j) = scale * dot;
    }
}

// 2. s_ij = softcap * tanh(s_ij / softcap)
template <class T>
void cap_scores(Head<T>& head) {
  for (std::size_t i = 0; i < head.n_q(); ++i)
    for (std::size_t j = 0; j < head.n_k(); ++j) {
      T s = head.result.scaled.at(head.n, head.h, i, j);
      if (head.options.softcap) {
        const T cap = *head.options.softcap;
        s = cap * tanh(s / cap);
      }
      head.result.capped.at(head.n, head.h, i, j) = s;
    }
}

// 3. s_ij += bias_ij;  s_ij -= slope_h * |i + offset - j|
template <class T>
void bias_scores(Head<T>& head) {
  const ScoreView& bias = head.problem.bias;
  const auto& slopes = head.options.alibi_slopes;
  for (std::size_t i = 0; i < head.n_q(); ++i)
    for (std::size_t j = 0; j < head.n_k(); ++j) {
      T s = head.result.capped.at(head.n, head.h, i, j);
      if (bias) s += static_cast<T>(load(bias.data, bias.dtype, head.index(bias, i, j)));
      if (!slopes.empty()) s -= slopes[head.h] * static_cast<T>(distance(head.sequence, i, j));
      head.result.biased.at(head.n, head.h, i, j) = s;
    }
}

// 3, the end: the caller's score_mod, on all the scores of the head as one tile of type S.
template <class S, class T>
void modify_scores(Head<T>& head, void (*modify)(const ScoreTile<S>&, void*)) {
  Matrix<S> s(head.n_q(), head.n_k());
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t j = 0; j < s.cols; ++j)
      s(i, j) = static_cast<S>(head.result.biased.at(head.n, head.h, i, j));
  const Matrix<S> before = s;
  modify({.s = s.values.data(),
          .rows = s.rows,
          .cols = s.cols,
          .stride = s.cols,
          .batch = head.n,
          .head = head.h},
         head.options.score_mod.user);
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t j = 0; j < s.cols; ++j) {
      head.result.biased.at(head.n, head.h, i, j) = static_cast<T>(s(i, j));
      if (s(i, j) == -kInfinity<S> && before(i, j) != -kInfinity<S>)
        head.result.visible.at(head.n, head.h, i, j) = 0;
    }
}

template <class T>
void modify_scores(Head<T>& head) {
  const ScoreMod& mod = head.options.score_mod;
  if (head.n_q() == 0 || head.n_k() == 0) return;
  if (mod.f64 != nullptr && std::is_same_v<T, double>)
    modify_scores<double>(head, mod.f64);
  else if (mod.f32 != nullptr)
    modify_scores<float>(head, mod.f32);
}

// 4. visible: causal, window and key length (the range), mask, and a bias above -infinity
template <class T>
void hide_keys(Head<T>& head) {
  const ScoreView &mask = head.problem.mask, &bias = head.problem.bias;
  for (std::size_t i = 0; i < head.n_q(); ++i) {
    const KeyRange range = head.problem.visible_keys(head.sequence, i);
    for (std::size_t j = 0; j < head.n_k(); ++j) {
      bool visible = range.contains(j);
      if (mask) visible &= static_cast<const std::uint8_t*>(mask.data)[head.index(mask, i, j)] != 0;
      if (bias)
        visible &= load(bias.data, bias.dtype, head.index(bias, i, j)) != -kInfinity<double>;
      head.result.visible.at(head.n, head.h, i, j) = visible;
    }
  }
}

// 5. p_ij = exp(s_ij - lse_i) over the visible keys, with the largest score m_i taken out first:
//    p_ij = exp(s_ij - m_i) / l_i,  l_i = sum_visible exp(s_ij - m_i),  lse_i = m_i + log(l_i)
template <class T>
void soften(Head<T>& head) {
  for (std::size_t i = 0; i < head.n_q(); ++i) {
    const auto visible = [&](std::size_t j) {
      return head.result.visible.at(head.n, head.h, i, j);
    };
    const auto s = [&](std::size_t j) { return head.result.biased.at(head.n, head.h, i, j); };
    const auto p = [&](std::size_t j) -> T& { return head.result.p.at(head.n, head.h, i, j); };
    T& lse = head.result.lse.at(head.n, head.h, i, 0);

    const T sink = head.options.sinks.empty() ? -kInfinity<T> : T{head.options.sinks[head.h]};
    bool any = false;
    T m = sink;
    for (std::size_t j = 0; j < head.n_k(); ++j)
      if (visible(j)) {
        any = true;
        m = std::max(m, s(j));
      }
    if (!any) {  // by visibility, never by magnitude
      lse = sink;
      continue;
    }
    T l = sink == -kInfinity<T> ? T{0} : exp(sink - m);
    for (std::size_t j = 0; j < head.n_k(); ++j)
      if (visible(j)) l += p(j) = exp(s(j) - m);
    for (std::size_t j = 0; j < head.n_k(); ++j)
      if (visible(j)) p(j) /= l;
    lse = m + log(l);
  }
}

// 6. o_i = sum_j p_ij * v_j, over the visible keys: 0 * NaN of a hidden one is not 0
template <class T>
void mix_values(Head<T>& head, const Matrix<T>& v) {
  for (std::size_t i = 0; i < head.n_q(); ++i)
    for (std::size_t j = 0; j < head.n_k(); ++j) {
      if (!head.result.visible.at(head.n, head.h, i, j)) continue;
      const T p = head.result.p.at(head.n, head.h, i, j);
      for (std::size_t c = 0; c < v.cols; ++c)
        head.result.o.at(head.n, head.h, i, c) += p * v(j, c);
    }
}

}  // namespace

template <class T>
Attention<T> attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options) {
  const Problem problem = describe(q, k, v, options);
  require_data("query", q);
  require_data("key", k);
  require_data("value", v);

  Attention<T> result;
  const std::size_t batch = problem.sequences.size(), heads = problem.query_heads;
  for (Tensor<T>* s : {&result.raw, &result.scaled, &result.capped, &result.biased, &result.p})
    *s = zeros<T>(batch, heads, problem.most_queries, problem.most_keys);
  result.visible = zeros<std::uint8_t>(batch, heads, problem.most_queries, problem.most_keys);
  result.lse = zeros<T>(batch, heads, problem.most_queries, 1);
  result.o = zeros<T>(batch, heads, problem.most_queries, problem.value_dim);

  for (std::size_t n = 0; n < batch; ++n)
    for (std::size_t h = 0; h < heads; ++h) {
      const Sequence& s = problem.sequences[n];
      const std::size_t g = problem.kv_head(h);
      Head<T> head{problem, options, s, n, h, result};
      scale_scores(head, matrix_of<T>(q, s.batch, h, s.first_query, s.queries),
                   matrix_of<T>(k, s.batch, g, s.first_key, s.keys));
      cap_scores(head);
      bias_scores(head);
      hide_keys(head);
      modify_scores(head);
      soften(head);
      mix_values(head, matrix_of<T>(v, s.batch, g, s.first_key, s.keys));
    }
  return result;
}

template Attention<double> attention<double>(ConstTensorView, ConstTensorView, ConstTensorView,
                                             const AttentionOptions&);
template Attention<float> attention<float>(ConstTensorView, ConstTensorView, ConstTensorView,
                                           const AttentionOptions&);

}  // namespace heed::reference
