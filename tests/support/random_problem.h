// A random attention problem that owns its tensors: small, any combination of options, the same
// numbers for the same seed on every platform.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

#include "heed/options.h"
#include "heed/view.h"

namespace heed::support {

// What the problem is like; everything else comes from the seed.
struct ProblemSpec {
  std::size_t batch = 1, kv_heads = 1, group = 1;  // query_heads = kv_heads * group
  std::size_t n_q = 1, n_k = 1, d_k = 1, d_v = 1;
  bool ragged = false;  // `batch` sequences of at most n_q queries and n_k keys
  std::optional<float> softcap = {};
  std::optional<Causal> causal = {};
  std::optional<std::int64_t> query_offset = {}, window_left = {}, window_right = {};
  bool key_lengths = false, mask = false, bias = false, alibi = false, sinks = false;
  std::uint32_t seed = 0;
};

inline std::ostream& operator<<(std::ostream& out, const ProblemSpec& s) {
  out << "batch " << s.batch << (s.ragged ? " (ragged)" : "") << ", heads " << s.kv_heads << " x "
      << s.group << ", n_q " << s.n_q << ", n_k " << s.n_k << ", d_k " << s.d_k << ", d_v "
      << s.d_v;
  if (s.softcap) out << ", softcap " << *s.softcap;
  if (s.causal) out << (*s.causal == Causal::upper_left ? ", upper left" : ", lower right");
  if (s.query_offset) out << ", query_offset " << *s.query_offset;
  if (s.window_left) out << ", window_left " << *s.window_left;
  if (s.window_right) out << ", window_right " << *s.window_right;
  out << (s.key_lengths ? ", key_lengths" : "") << (s.mask ? ", mask" : "")
      << (s.bias ? ", bias" : "") << (s.alibi ? ", alibi" : "") << (s.sinks ? ", sinks" : "");
  return out << ", seed " << s.seed;
}

// Plain vectors that a test may change; the views are made anew on every call.
struct RandomProblem {
  ProblemSpec spec;
  std::vector<float> q, k, v;                    // [batch, heads, tokens, dim] contiguous
  std::vector<std::uint8_t> mask;                // [sequences, query_heads, n_q, n_k], 0 or 1
  std::vector<float> bias;                       // the same
  std::vector<float> slopes, sinks;              // one per query head
  std::vector<std::int64_t> key_lengths;         // one per sequence
  std::vector<std::int64_t> cu_q, cu_k;          // ragged only
  std::size_t query_tokens = 0, key_tokens = 0;  // of one batch row

  explicit RandomProblem(const ProblemSpec& s) : spec(s), random_(s.seed) {
    query_tokens = s.ragged ? fill_cu(cu_q, s.n_q) : s.n_q;
    key_tokens = s.ragged ? fill_cu(cu_k, s.n_k) : s.n_k;
    const std::size_t rows = s.ragged ? 1 : s.batch;
    fill(q, rows * query_heads() * query_tokens * s.d_k);
    fill(k, rows * s.kv_heads * key_tokens * s.d_k);
    fill(v, rows * s.kv_heads * key_tokens * s.d_v);
    const std::size_t entries =
        s.batch * query_heads() * longest(cu_q, s.n_q) * longest(cu_k, s.n_k);
    if (s.bias) fill(bias, entries);
    if (s.mask)
      for (std::size_t n = 0; n < entries; ++n) mask.push_back(whole(0, 3) != 0);
    if (s.alibi) fill(slopes, query_heads());
    if (s.sinks) fill(sinks, query_heads());
    if (s.key_lengths)
      for (std::size_t n = 0; n < s.batch; ++n) key_lengths.push_back(whole(0, keys_of(n)));
  }

  std::size_t query_heads() const { return spec.kv_heads * spec.group; }
  std::int64_t queries_of(std::size_t n) const { return length(cu_q, n, spec.n_q); }
  std::int64_t keys_of(std::size_t n) const { return length(cu_k, n, spec.n_k); }

  ConstTensorView query() const { return view(q, query_heads(), query_tokens, spec.d_k); }
  ConstTensorView key() const { return view(k, spec.kv_heads, key_tokens, spec.d_k); }
  ConstTensorView value() const { return view(v, spec.kv_heads, key_tokens, spec.d_v); }

  AttentionOptions options() const {
    AttentionOptions o;
    o.softcap = spec.softcap;
    o.causal = spec.causal;
    o.query_offset = spec.query_offset;
    if (!o.causal && !o.query_offset) o.query_offset = 0;
    o.window_left = spec.window_left;
    o.window_right = spec.window_right;
    const std::size_t rows = longest(cu_q, spec.n_q), cols = longest(cu_k, spec.n_k);
    if (!mask.empty()) o.mask = scores(mask.data(), spec.batch, query_heads(), rows, cols);
    if (!bias.empty()) o.bias = scores(bias.data(), spec.batch, query_heads(), rows, cols);
    o.key_lengths = key_lengths;
    o.alibi_slopes = slopes;
    o.sinks = sinks;
    o.cu_seqlens_q = cu_q;
    o.cu_seqlens_k = cu_k;
    return o;
  }

 private:
  std::mt19937 random_;

  // The engine's bits are specified by the standard, its distributions are not.
  float number() { return static_cast<float>(random_() >> 8) * 0x1p-22f - 2.0f; }  // [-2, 2)
  std::int64_t whole(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }
  void fill(std::vector<float>& values, std::size_t size) {
    values.resize(size);
    for (float& x : values) x = number();
  }
  std::size_t fill_cu(std::vector<std::int64_t>& cu, std::size_t most) {
    cu = {0};
    for (std::size_t n = 0; n < spec.batch; ++n)
      cu.push_back(cu.back() + whole(0, static_cast<std::int64_t>(most)));
    return static_cast<std::size_t>(cu.back());
  }
  static std::int64_t length(const std::vector<std::int64_t>& cu, std::size_t n, std::size_t all) {
    return cu.empty() ? static_cast<std::int64_t>(all) : cu[n + 1] - cu[n];
  }
  std::size_t longest(const std::vector<std::int64_t>& cu, std::size_t all) const {
    std::int64_t most = 0;
    for (std::size_t n = 0; n < spec.batch; ++n) most = std::max(most, length(cu, n, all));
    return static_cast<std::size_t>(most);
  }
  ConstTensorView view(const std::vector<float>& values, std::size_t heads, std::size_t tokens,
                       std::size_t dim) const {
    return bhnd(values.data(), spec.ragged ? 1 : spec.batch, heads, tokens, dim);
  }
};

}  // namespace heed::support
