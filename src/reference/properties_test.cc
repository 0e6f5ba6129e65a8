// What must hold of any attention, on random problems with any combination of options.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <vector>

#include "heed/reference.h"
#include "tests/support/arbitrary_problem.h"
#include "tests/support/random_problem.h"

namespace heed::reference {
namespace {

using support::ProblemSpec;
using support::RandomProblem;
using Index = std::size_t;

template <class T = double>
Attention<T> attend(const RandomProblem& p, const AttentionOptions& options) {
  return attention<T>(p.query(), p.key(), p.value(), options);
}
template <class T = double>
Attention<T> attend(const RandomProblem& p) {
  return attend<T>(p, p.options());
}

// Calls f(n, h, i) for every query of the problem.
template <class F>
void for_rows(const RandomProblem& p, F&& f) {
  for (Index n = 0; n < p.spec.batch; ++n)
    for (Index h = 0; h < p.query_heads(); ++h)
      for (Index i = 0; i < static_cast<Index>(p.queries_of(n)); ++i) f(n, h, i);
}

bool same_bits(const Tensor<double>& a, const Tensor<double>& b) {
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

constexpr double kMostValue = 2;  // |v| of a random problem

RC_GTEST_PROP(Properties, RowsOfPAddUpToOne, (const ProblemSpec& spec)) {
  const RandomProblem p(spec);
  const auto r = attend(p);
  for_rows(p, [&](Index n, Index h, Index i) {
    double sum = 0, terms = 0;
    for (Index j = 0; j < r.p.cols; ++j) {
      const double weight = r.p.at(n, h, i, j);
      RC_ASSERT(weight >= 0 && weight <= 1);
      if (!r.visible.at(n, h, i, j)) RC_ASSERT(weight == 0);
      terms += r.visible.at(n, h, i, j);
      sum += weight;
    }
    const double lse = r.lse.at(n, h, i, 0);
    if (!p.sinks.empty()) sum += std::exp(double{p.sinks[h]} - lse);
    if (terms == 0 && p.sinks.empty()) {
      RC_ASSERT(sum == 0 && lse == -INFINITY);
      return;
    }
    // n quotients and n sums, each rounded; the sink's share also errs with lse.
    RC_ASSERT(std::abs(sum - 1) <= (2 * terms + 4 + std::abs(lse)) * DBL_EPSILON);
  });
}

// p_ij = exp(s_ij - lse_i), the definition, although it is computed another way.
RC_GTEST_PROP(Properties, WeightsAreWhatLseSays, (const ProblemSpec& spec)) {
  const RandomProblem p(spec);
  const auto r = attend(p);
  for_rows(p, [&](Index n, Index h, Index i) {
    const double lse = r.lse.at(n, h, i, 0);
    for (Index j = 0; j < r.p.cols; ++j) {
      if (!r.visible.at(n, h, i, j)) continue;
      const double s = r.biased.at(n, h, i, j), weight = std::exp(s - lse);
      const double roundings =
          2 * (std::abs(s) + std::abs(lse)) + static_cast<double>(r.p.cols) + 6;
      RC_ASSERT(std::abs(r.p.at(n, h, i, j) - weight) <= roundings * DBL_EPSILON * weight);
    }
  });
}

// Same scores in another order: only the sums over keys are rounded differently.
RC_GTEST_PROP(Properties, PermutingKeysChangesNothing, (ProblemSpec spec)) {
  spec.ragged = spec.alibi = spec.key_lengths = false;  // what depends on where a key stands
  spec.causal = {};
  spec.window_left = spec.window_right = {};
  const RandomProblem p(spec);
  RandomProblem permuted = p;
  std::vector<Index> order(spec.n_k);
  std::iota(order.begin(), order.end(), Index{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(spec.seed));
  const auto shuffle_rows = [&](auto& to, const auto& from, Index width) {
    for (Index at = 0; at < from.size(); ++at) {
      const Index row = at / width, first = row / spec.n_k * spec.n_k;
      to[at] = from[(first + order[row - first]) * width + at % width];
    }
  };
  shuffle_rows(permuted.k, p.k, spec.d_k);
  shuffle_rows(permuted.v, p.v, spec.d_v);
  shuffle_rows(permuted.mask, p.mask, 1);
  shuffle_rows(permuted.bias, p.bias, 1);
  const auto a = attend(p), b = attend(permuted);
  const double close = 4 * (static_cast<double>(spec.n_k) + 4) * DBL_EPSILON * kMostValue;
  for (Index at = 0; at < a.o.values.size(); ++at)
    RC_ASSERT(std::abs(a.o.values[at] - b.o.values[at]) <= close);
}

RC_GTEST_PROP(Properties, TheFutureChangesNoCausalPast, (ProblemSpec spec)) {
  spec.ragged = spec.key_lengths = false;
  spec.causal = Causal::upper_left;
  spec.query_offset = {};
  spec.n_q = spec.n_k = std::max<Index>(spec.n_k, 2);
  const RandomProblem p(spec);
  RandomProblem other = p;
  const Index now = spec.seed % spec.n_k;  // queries up to `now` cannot see beyond it
  const auto spoil = [&](std::vector<float>& values, Index width) {
    for (Index at = 0; at < values.size(); ++at)
      if (at / width % spec.n_k > now) values[at] = at % 2 == 0 ? 1e30f : NAN;
  };
  spoil(other.k, spec.d_k);
  spoil(other.v, spec.d_v);
  const auto a = attend(p), b = attend(other);
  for_rows(p, [&](Index n, Index h, Index i) {
    if (i > now) return;
    for (Index c = 0; c < spec.d_v; ++c) RC_ASSERT(a.o.at(n, h, i, c) == b.o.at(n, h, i, c));
  });
}

RC_GTEST_PROP(Properties, WhatIsHiddenNeverLeaks, (const ProblemSpec& spec)) {
  const RandomProblem p(spec);
  const auto a = attend(p);
  RandomProblem spoilt = p;
  const auto seen = [&](Index n, Index g, Index j) {
    for (Index h = g * spec.group; h < (g + 1) * spec.group; ++h)
      for (Index i = 0; i < a.visible.rows; ++i)
        if (a.visible.at(n, h, i, j)) return true;
    return false;
  };
  for (Index n = 0; n < spec.batch; ++n)
    for (Index g = 0; g < spec.kv_heads; ++g)
      for (Index j = 0; j < static_cast<Index>(p.keys_of(n)); ++j) {
        if (seen(n, g, j)) continue;
        const Index batch_row = spec.ragged ? 0 : n;
        const Index token = (spec.ragged ? static_cast<Index>(p.cu_k[n]) : 0) + j;
        const Index row = (batch_row * spec.kv_heads + g) * p.key_tokens + token;
        std::fill_n(spoilt.k.begin() + static_cast<std::ptrdiff_t>(row * spec.d_k), spec.d_k, NAN);
        std::fill_n(spoilt.v.begin() + static_cast<std::ptrdiff_t>(row * spec.d_v), spec.d_v, NAN);
      }
  const auto b = attend(spoilt);
  RC_ASSERT(same_bits(a.o, b.o));
  RC_ASSERT(same_bits(a.p, b.p));
  RC_ASSERT(same_bits(a.lse, b.lse));
}

RC_GTEST_PROP(Properties, GroupedHeadsAreRepeatedHeads, (ProblemSpec spec)) {
  spec.ragged = false;
  const RandomProblem p(spec);
  RandomProblem repeated = p;
  repeated.spec.kv_heads = p.query_heads();
  repeated.spec.group = 1;
  const auto repeat = [&](std::vector<float>& to, const std::vector<float>& from, Index width) {
    to.clear();
    const Index head = spec.n_k * width;
    for (Index b = 0; b < spec.batch; ++b)
      for (Index h = 0; h < p.query_heads(); ++h) {
        const auto at = static_cast<std::ptrdiff_t>((b * spec.kv_heads + h / spec.group) * head);
        to.insert(to.end(), from.begin() + at,
                  from.begin() + at + static_cast<std::ptrdiff_t>(head));
      }
  };
  repeat(repeated.k, p.k, spec.d_k);
  repeat(repeated.v, p.v, spec.d_v);
  RC_ASSERT(same_bits(attend(p).o, attend(repeated).o));
}

// The algebra of states: attention over two halves of the keys, joined by their lse.
RC_GTEST_PROP(Properties, KeysSplitAndMergedAreTheWhole, (ProblemSpec spec)) {
  spec.sinks = false;  // a sink would be counted in both halves
  const RandomProblem p(spec);
  const auto whole = attend(p);
  const auto half = [&](bool upper) {  // sees keys j < c only, or j >= c only
    RandomProblem part = p;
    const Index cut = spec.n_k / 2, entries = whole.visible.values.size();
    part.mask.resize(entries);
    for (Index at = 0; at < entries; ++at) {
      const bool mine = (at % whole.visible.cols >= cut) == upper;
      part.mask[at] = mine && (p.mask.empty() || p.mask[at] != 0);
    }
    return attend(part);
  };
  const auto low = half(false), high = half(true);
  for_rows(p, [&](Index n, Index h, Index i) {
    const double a = low.lse.at(n, h, i, 0), b = high.lse.at(n, h, i, 0);
    const double top = std::max(a, b), lse = whole.lse.at(n, h, i, 0);
    if (top == -INFINITY) {
      RC_ASSERT(lse == -INFINITY);
      return;
    }
    const double weight_a = std::exp(a - top), weight_b = std::exp(b - top);
    const double close = 8 * (static_cast<double>(spec.n_k) + 4 + std::abs(lse)) * DBL_EPSILON;
    RC_ASSERT(std::abs(top + std::log(weight_a + weight_b) - lse) <= close);
    for (Index c = 0; c < spec.d_v; ++c) {
      const double merged = (weight_a * low.o.at(n, h, i, c) + weight_b * high.o.at(n, h, i, c)) /
                            (weight_a + weight_b);
      RC_ASSERT(std::abs(merged - whole.o.at(n, h, i, c)) <= close * kMostValue);
    }
  });
}

RC_GTEST_PROP(Properties, RaggedIsOneByOne, (ProblemSpec spec)) {
  spec.ragged = true;
  const RandomProblem p(spec);
  const auto all = attend(p);
  for (Index n = 0; n < spec.batch; ++n) {
    const auto part = [&](ConstTensorView view, const std::vector<std::int64_t>& cu) {
      view.data = static_cast<const float*>(view.data) + cu[n] * view.token_stride;
      view.tokens = static_cast<Index>(cu[n + 1] - cu[n]);
      return view;
    };
    AttentionOptions options = p.options();
    options.cu_seqlens_q = options.cu_seqlens_k = {};
    if (!p.key_lengths.empty()) options.key_lengths = options.key_lengths.subspan(n, 1);
    const auto alone_view = [&](ScoreView view) {
      if (!view) return view;
      const Index size = dtype_of<float> == view.dtype ? sizeof(float) : 1;
      view.data = static_cast<const std::byte*>(view.data) +
                  static_cast<std::ptrdiff_t>(n * size) * view.strides[0];
      view.sizes = {1, view.sizes[1], static_cast<Index>(p.queries_of(n)),
                    static_cast<Index>(p.keys_of(n))};
      return view;
    };
    options.mask = alone_view(options.mask);
    options.bias = alone_view(options.bias);
    const auto one = attention<double>(part(p.query(), p.cu_q), part(p.key(), p.cu_k),
                                       part(p.value(), p.cu_k), options);
    for (Index h = 0; h < p.query_heads(); ++h)
      for (Index i = 0; i < one.o.rows; ++i)
        for (Index c = 0; c < spec.d_v; ++c)
          RC_ASSERT(all.o.at(n, h, i, c) == one.o.at(0, h, i, c));
  }
}

RC_GTEST_PROP(Properties, StridedIsContiguous, (ProblemSpec spec)) {
  spec.ragged = false;
  const RandomProblem p(spec);
  // The same numbers as [batch, tokens, heads, dim] with a gap after every row.
  const auto scattered = [&](ConstTensorView view, std::vector<double>& storage) {
    const Index width = view.dim + 3;
    storage.assign(view.batch * view.tokens * view.heads * width, NAN);
    for (Index b = 0; b < view.batch; ++b)
      for (Index h = 0; h < view.heads; ++h)
        for (Index n = 0; n < view.tokens; ++n)
          for (Index c = 0; c < view.dim; ++c)
            storage[((b * view.tokens + n) * view.heads + h) * width + c] =
                static_cast<const float*>(
                    view.data)[((b * view.heads + h) * view.tokens + n) * view.dim + c];
    ConstTensorView result = bnhd(storage.data(), view.batch, view.tokens, view.heads, width);
    result.dim = view.dim;
    return result;
  };
  std::vector<double> q, k, v;
  const auto strided = attention<double>(scattered(p.query(), q), scattered(p.key(), k),
                                         scattered(p.value(), v), p.options());
  RC_ASSERT(same_bits(attend(p).o, strided.o));
}

RC_GTEST_PROP(Properties, AMaskIsABiasOfMinusInfinity, (ProblemSpec spec)) {
  spec.mask = true;
  const RandomProblem p(spec);
  RandomProblem biased = p;
  biased.mask.clear();
  biased.bias.resize(p.mask.size());
  for (Index at = 0; at < p.mask.size(); ++at)
    if (!p.mask[at]) biased.bias[at] = -INFINITY;
  const auto a = attend(p), b = attend(biased);
  RC_ASSERT(same_bits(a.o, b.o));
  RC_ASSERT(a.visible.values == b.visible.values);
}

RC_GTEST_PROP(Properties, AKeyLengthIsAShorterTensor, (ProblemSpec spec)) {
  spec.ragged = spec.mask = spec.bias = false;
  spec.key_lengths = true;
  spec.batch = 1;
  const RandomProblem p(spec);
  const auto shorter = [&](ConstTensorView view) {
    view.tokens = static_cast<Index>(p.key_lengths[0]);
    return view;
  };
  AttentionOptions options = p.options();
  options.key_lengths = {};
  RC_ASSERT(same_bits(
      attend(p).o, attention<double>(p.query(), shorter(p.key()), shorter(p.value()), options).o));
}

// ALiBi written as a score_mod is the option itself.
RC_GTEST_PROP(Properties, ScoreModExpressesAlibi, (ProblemSpec spec)) {
  spec.alibi = true;
  spec.causal = {};
  const RandomProblem p(spec);
  const std::int64_t offset = spec.query_offset.value_or(0);
  const auto alibi = [&](const auto& tile) {
    for (Index i = 0; i < tile.rows; ++i)
      for (Index j = 0; j < tile.cols; ++j)
        tile.s[i * tile.stride + j] -=
            p.slopes[tile.head] *
            static_cast<double>(std::abs(static_cast<std::int64_t>(tile.query + i) + offset -
                                         static_cast<std::int64_t>(tile.key + j)));
  };
  AttentionOptions options = p.options();
  options.alibi_slopes = {};
  options.score_mod = score_mod(alibi);
  RC_ASSERT(same_bits(attend(p).o, attend(p, options).o));
}

// The same number on every score of a row shifts lse and nothing else.
RC_GTEST_PROP(Properties, AConstantOnARowShiftsLseOnly, (ProblemSpec spec)) {
  spec.sinks = false;
  spec.bias = true;
  const RandomProblem p(spec);
  RandomProblem shifted = p;
  const float constant = 16.0f;
  for (float& b : shifted.bias) b += constant;
  const auto a = attend(p), b = attend(shifted);
  for_rows(p, [&](Index n, Index h, Index i) {
    const double lse = a.lse.at(n, h, i, 0);
    if (lse == -INFINITY) return;
    double most = constant;  // of any score, for its rounding; float bias + 16 is rounded too
    for (Index j = 0; j < a.p.cols; ++j)
      most = std::max(most, constant + std::abs(a.biased.at(n, h, i, j)));
    const double close = constant * FLT_EPSILON + 8 * (most + 16) * DBL_EPSILON;
    RC_ASSERT(std::abs(b.lse.at(n, h, i, 0) - lse - constant) <= close);
    for (Index j = 0; j < a.p.cols; ++j)
      RC_ASSERT(std::abs(a.p.at(n, h, i, j) - b.p.at(n, h, i, j)) <= 2 * close);
  });
}

// Plain float stays within the sum of its roundings: with A the largest sum of magnitudes behind a
// score, a score errs by (d_k + 8) u A, a weight by twice that and n_k + 8 roundings more.
RC_GTEST_PROP(Properties, PlainFloatErrsAsItsRoundingsDo, (const ProblemSpec& spec)) {
  const RandomProblem p(spec);
  const auto exact = attend<double>(p);
  const auto plain = attend<float>(p);
  const double d = static_cast<double>(spec.d_k), keys = static_cast<double>(spec.n_k);
  const double reach = static_cast<double>(spec.n_q + spec.n_k) + 9;  // |i + offset - j|
  const double magnitude = std::sqrt(d) * 4 + 2 + 2 * reach + spec.softcap.value_or(0) + 2;
  const double score = (d + 8) * magnitude * FLT_EPSILON;
  const double close = kMostValue * (2 * score + (2 * keys + 8) * FLT_EPSILON);
  for (Index at = 0; at < exact.o.values.size(); ++at)
    RC_ASSERT(std::abs(exact.o.values[at] - static_cast<double>(plain.o.values[at])) <= close);
  RC_ASSERT(exact.visible.values == plain.visible.values);
}

}  // namespace
}  // namespace heed::reference
