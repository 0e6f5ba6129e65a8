// For the tests of the kernels: random problems with any combination of options.
#pragma once

#include <utility>

#include "kernels/case_test.h"

namespace heed::test {

// A score_mod that changes scores by their coordinates and hides some.
struct Stripes {
  template <class Tile>
  void operator()(const Tile& t) const {
    for (std::size_t r = 0; r < t.rows; ++r)
      for (std::size_t c = 0; c < t.cols; ++c) {
        auto& s = t.s[r * t.stride + c];
        const std::size_t i = t.query + r, j = t.key + c;
        if ((i * 7 + j * 5 + t.head + t.batch) % 11 == 0)
          s = -std::numeric_limits<std::remove_reference_t<decltype(s)>>::infinity();
        else
          s = s * (1 - 0.25f * static_cast<float>(t.head % 2)) + 0.125f * static_cast<float>(j % 3);
      }
  }
};
inline const Stripes kStripes;

// A view [sequences, heads, queries, keys] on new values, each axis broadcast or not; now and then
// with the keys not next to each other.
template <class T, class F>
ScoreView random_scores(Random& random, const std::size_t (&full)[4], std::vector<T>& values,
                        F&& f) {
  std::size_t sizes[4];
  for (std::size_t axis = 0; axis < 4; ++axis) sizes[axis] = random.chance(0.6) ? full[axis] : 1;
  values.resize(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
  for (T& x : values) x = f();
  ScoreView view = scores(values.data(), sizes[0], sizes[1], sizes[2], sizes[3]);
  if (random.chance(0.3)) {  // stored with the queries last
    view.strides[2] = 1;
    view.strides[3] = static_cast<std::ptrdiff_t>(sizes[2]);
  }
  return view;
}

inline void random_bias(Random& random, Case& c, const std::size_t (&full)[4]) {
  const auto value = [&] { return random.chance(0.05) ? -kInf : random.normal(); };
  switch (random.below(4)) {
    case 0: c.options.bias = random_scores(random, full, c.bias, value); break;
    case 1:
      c.options.bias = random_scores(random, full, c.bias_f16, [&] { return to_f16(value()); });
      break;
    case 2:
      c.options.bias = random_scores(random, full, c.bias_bf16, [&] { return to_bf16(value()); });
      break;
    default:
      c.options.bias =
          random_scores(random, full, c.bias_f64, [&] { return static_cast<double>(value()); });
  }
}

inline void random_positions(Random& random, Case& c) {
  const auto n_q = static_cast<std::int64_t>(c.n_q), n_k = static_cast<std::int64_t>(c.n_k);
  const bool causal = random.chance(0.5);
  if (causal) c.options.causal = random.pick({Causal::upper_left, Causal::lower_right});
  bool placed = causal;
  if (random.chance(0.2)) {
    c.options.query_offset = random.between(-n_q - 3, n_k + 3);
    placed = true;
  } else if (random.chance(0.2)) {
    for (std::size_t n = 0; n < c.sequences(); ++n)
      c.offsets.push_back(random.between(-n_q - 3, n_k + 3));
    c.options.query_offsets = c.offsets;
    placed = true;
  }
  if (!placed) return;
  if (random.chance(0.3)) c.options.window_left = random.between(0, n_k);
  if (random.chance(0.3)) c.options.window_right = random.between(0, n_k);
  if (random.chance(0.3)) {
    for (std::size_t h = 0; h < c.query_heads; ++h)
      c.slopes.push_back(static_cast<float>(random.uniform()));
    c.options.alibi_slopes = c.slopes;
  }
}

inline void random_cuts(Random& random, Case& c) {
  const std::size_t sequences = 1 + random.below(4);
  const auto cuts = [&](std::size_t tokens, std::vector<std::int64_t>& cu) {
    cu.assign(1, 0);
    for (std::size_t n = 1; n < sequences; ++n)
      cu.push_back(static_cast<std::int64_t>(random.below(tokens + 1)));
    cu.push_back(static_cast<std::int64_t>(tokens));
    std::sort(cu.begin(), cu.end());
  };
  c.batch = 1;
  cuts(c.n_q, c.cu_q);
  cuts(c.n_k, c.cu_k);
  c.options.cu_seqlens_q = c.cu_q;
  c.options.cu_seqlens_k = c.cu_k;
}

// Sizes around the edges of strips, panels and blocks; `most_queries` and `most_keys` bound them.
// Fills in place: options point into the case, which therefore must not move.
inline void make_random(Random& random, Case& c, std::size_t most_queries, std::size_t most_keys) {
  c.kv_heads = 1 + random.below(3);
  c.query_heads = c.kv_heads * (1 + random.below(4));
  c.batch = 1 + random.below(3);
  c.n_q =
      1 + random.below(random.chance(0.5) ? std::min<std::size_t>(20, most_queries) : most_queries);
  c.n_k = 1 + random.below(random.chance(0.5) ? std::min<std::size_t>(40, most_keys) : most_keys);
  c.d_k = 1 + random.below(random.chance(0.8) ? 40 : 130);
  c.d_v = random.chance(0.5) ? c.d_k : 1 + random.below(70);
  c.q_type = random.pick({DType::f32, DType::f16, DType::bf16});
  c.kv_type = random.pick({DType::f32, DType::f16, DType::bf16});
  c.tokens_first = random.chance(0.5);
  c.gap = random.below(3);
  if (random.chance(0.25)) random_cuts(random, c);
  c.make(random);
  random_positions(random, c);

  std::size_t longest_q = 0, longest_k = 0;
  for (std::size_t n = 0; n < c.sequences(); ++n) {
    const std::size_t keys =
        c.cu_k.empty() ? c.n_k : static_cast<std::size_t>(c.cu_k[n + 1] - c.cu_k[n]);
    longest_q = std::max(longest_q, c.queries(n));
    longest_k = std::max(longest_k, keys);
    c.lengths.push_back(random.between(0, static_cast<std::int64_t>(keys)));
  }
  const std::size_t full[4] = {c.sequences(), c.query_heads, longest_q, longest_k};
  AttentionOptions& o = c.options;
  if (random.chance(0.3)) o.key_lengths = c.lengths;
  if (random.chance(0.3)) o.softcap = 0.5f + 5 * static_cast<float>(random.uniform());
  if (random.chance(0.3)) o.scale = 0.1f + static_cast<float>(random.uniform());
  if (random.chance(0.3))
    o.mask = random_scores(random, full, c.mask, [&] { return std::uint8_t{random.chance(0.7)}; });
  if (random.chance(0.3)) random_bias(random, c, full);
  if (random.chance(0.2)) o.score_mod = score_mod(kStripes);
  if (random.chance(0.3)) {
    for (std::size_t h = 0; h < c.query_heads; ++h)
      c.sinks.push_back(random.chance(0.2) ? -kInf : random.normal());
    o.sinks = c.sinks;
  }
}

}  // namespace heed::test
