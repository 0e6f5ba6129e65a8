// For the tests of the kernels: an attention problem that owns its data, and how far a result may
// be from the oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention.h"
#include "heed/reference.h"

namespace heed::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // In [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  bool chance(double p) { return uniform() < p; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  float normal() {
    double sum = -6;
    for (int n = 0; n < 12; ++n) sum += uniform();
    return static_cast<float>(sum);
  }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// [batch, heads, tokens, dim], or [batch, tokens, heads, dim] in memory, with `gap` spare elements
// after every row that hold NaN: whoever reads them shows it.
struct Stored {
  DType dtype = DType::f32;
  std::size_t batch = 0, heads = 0, tokens = 0, dim = 0;
  bool tokens_first = false;
  std::size_t gap = 0;
  std::vector<float> f32;
  std::vector<f16> half;
  std::vector<bf16> brain;

  std::size_t row() const { return dim + gap; }
  std::size_t offset(std::size_t b, std::size_t h, std::size_t t) const {
    return (tokens_first ? (b * tokens + t) * heads + h : (b * heads + h) * tokens + t) * row();
  }
  void allocate() {
    const std::size_t n = batch * heads * tokens * row();
    f32.assign(dtype == DType::f32 ? n : 0, kNaN);
    half.assign(dtype == DType::f16 ? n : 0, to_f16(kNaN));
    brain.assign(dtype == DType::bf16 ? n : 0, to_bf16(kNaN));
  }
  void set(std::size_t b, std::size_t h, std::size_t t, std::size_t c, float x) {
    const std::size_t at = offset(b, h, t) + c;
    if (dtype == DType::f32) f32[at] = x;
    if (dtype == DType::f16) half[at] = to_f16(x);
    if (dtype == DType::bf16) brain[at] = to_bf16(x);
  }
  float get(std::size_t b, std::size_t h, std::size_t t, std::size_t c) const {
    const std::size_t at = offset(b, h, t) + c;
    if (dtype == DType::f16) return to_float(half[at]);
    if (dtype == DType::bf16) return to_float(brain[at]);
    return f32[at];
  }
  template <class F>
  void fill(F&& f) {
    allocate();
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t t = 0; t < tokens; ++t)
          for (std::size_t c = 0; c < dim; ++c) set(b, h, t, c, f());
  }
  TensorView view() {
    void* data = dtype == DType::f16    ? static_cast<void*>(half.data())
                 : dtype == DType::bf16 ? static_cast<void*>(brain.data())
                                        : static_cast<void*>(f32.data());
    const auto s = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
    const std::size_t head = tokens_first ? row() : tokens * row();
    const std::size_t token = tokens_first ? heads * row() : row();
    return {data, dtype, batch, heads, tokens, dim, s(heads * tokens * row()), s(head), s(token)};
  }
};

struct Case {
  std::size_t batch = 1, query_heads = 1, kv_heads = 1, n_q = 1, n_k = 1, d_k = 1, d_v = 1;
  DType q_type = DType::f32, kv_type = DType::f32;
  bool tokens_first = false;
  std::size_t gap = 0;
  AttentionOptions options;
  Stored q, k, v, out;
  std::vector<float> lse;
  // What options point at.
  std::vector<std::int64_t> lengths, offsets, cu_q, cu_k;
  std::vector<std::uint8_t> mask;
  std::vector<float> bias, slopes, sinks;
  std::vector<f16> bias_f16;
  std::vector<bf16> bias_bf16;
  std::vector<double> bias_f64;

  void make(Random& random, float scale = 1.0f) {
    const auto stored = [&](DType type, std::size_t heads, std::size_t tokens, std::size_t dim) {
      Stored s;
      s.dtype = type;
      s.batch = batch;
      s.heads = heads;
      s.tokens = tokens;
      s.dim = dim;
      s.tokens_first = tokens_first;
      s.gap = gap;
      s.fill([&] { return scale * random.normal(); });
      return s;
    };
    q = stored(q_type, query_heads, n_q, d_k);
    k = stored(kv_type, kv_heads, n_k, d_k);
    v = stored(kv_type, kv_heads, n_k, d_v);
    out = stored(q_type, query_heads, n_q, d_v);
    lse.assign(batch * query_heads * n_q, kNaN);
  }
  void run(const Execution& execution = {}) {
    attention(q.view(), k.view(), v.view(), out.view(), rows(lse.data(), query_heads, n_q), options,
              execution);
  }
  template <class T>
  reference::Attention<T> oracle() {
    return reference::attention<T>(q.view(), k.view(), v.view(), options);
  }
  std::size_t sequences() const { return cu_q.empty() ? batch : cu_q.size() - 1; }
  std::size_t queries(std::size_t n) const {
    return cu_q.empty() ? n_q : static_cast<std::size_t>(cu_q[n + 1] - cu_q[n]);
  }
  float out_at(std::size_t n, std::size_t h, std::size_t i, std::size_t c) const {
    return cu_q.empty() ? out.get(n, h, i, c)
                        : out.get(0, h, static_cast<std::size_t>(cu_q[n]) + i, c);
  }
  float lse_at(std::size_t n, std::size_t h, std::size_t i) const {
    return cu_q.empty() ? lse[(n * query_heads + h) * n_q + i]
                        : lse[h * n_q + static_cast<std::size_t>(cu_q[n]) + i];
  }
};

inline std::ostream& operator<<(std::ostream& to, const Case& c) {
  to << "batch " << c.batch << ", heads " << c.query_heads << "/" << c.kv_heads << ", n_q " << c.n_q
     << ", n_k " << c.n_k << ", d " << c.d_k << "/" << c.d_v << ", " << name_of(c.q_type) << "/"
     << name_of(c.kv_type) << (c.tokens_first ? ", bnhd" : ", bhnd") << ", gap " << c.gap;
  const AttentionOptions& o = c.options;
  if (o.scale) to << ", scale " << *o.scale;
  if (o.softcap) to << ", softcap " << *o.softcap;
  if (o.causal) to << (*o.causal == Causal::upper_left ? ", upper_left" : ", lower_right");
  if (o.query_offset) to << ", offset " << *o.query_offset;
  if (o.window_left) to << ", left " << *o.window_left;
  if (o.window_right) to << ", right " << *o.window_right;
  if (o.mask) to << ", mask";
  if (o.bias) to << ", bias " << name_of(o.bias.dtype);
  if (!o.key_lengths.empty()) to << ", lengths";
  if (!o.query_offsets.empty()) to << ", offsets";
  if (!o.alibi_slopes.empty()) to << ", alibi";
  if (!o.sinks.empty()) to << ", sinks";
  if (o.score_mod) to << ", score_mod";
  if (!c.cu_q.empty()) to << ", ragged " << c.cu_q.size() - 1;
  return to;
}

// What a run wrote, as bits: NaN equals NaN.
inline std::vector<unsigned char> bits(const Case& c) {
  std::vector<unsigned char> all;
  const auto add = [&](const auto& values) {
    const auto* begin = reinterpret_cast<const unsigned char*>(values.data());
    all.insert(all.end(), begin, begin + values.size() * sizeof(values[0]));
  };
  add(c.out.f32);
  add(c.out.half);
  add(c.out.brain);
  add(c.lse);
  return all;
}

struct Errors {
  double max = 0, mean = 0, signed_mean = 0;
};

// Errors of get(n, h, i, c) against truth over all entries where truth is finite; elsewhere both
// must be the same kind of not finite.
template <class T, class F>
Errors errors(const Case& c, const reference::Tensor<T>& truth, F&& get) {
  Errors e;
  double count = 0;
  for (std::size_t n = 0; n < c.sequences(); ++n)
    for (std::size_t h = 0; h < c.query_heads; ++h)
      for (std::size_t i = 0; i < c.queries(n); ++i)
        for (std::size_t d = 0; d < truth.cols; ++d) {
          const double t = static_cast<double>(truth.at(n, h, i, d)), x = get(n, h, i, d);
          if (!std::isfinite(t) || !std::isfinite(x)) {
            if (!(std::isnan(t) ? std::isnan(x) : t == x)) e.max = kInf;
            continue;
          }
          const double error = x - t;
          e.max = std::max(e.max, std::abs(error));
          e.mean += std::abs(error);
          e.signed_mean += error;
          count += 1;
        }
  if (count > 0) {
    e.mean /= count;
    e.signed_mean /= count;
  }
  return e;
}

inline double largest(const Stored& s) {
  double most = 0;
  for (std::size_t b = 0; b < s.batch; ++b)
    for (std::size_t h = 0; h < s.heads; ++h)
      for (std::size_t t = 0; t < s.tokens; ++t)
        for (std::size_t c = 0; c < s.dim; ++c) {
          const double x = std::abs(static_cast<double>(s.get(b, h, t, c)));
          if (std::isfinite(x)) most = std::max(most, x);
        }
  return most;
}

// Half the distance between neighbouring numbers of a dtype, relative.
inline double rounding(DType dtype) {
  return dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-24;
}

// The result errs at most twice as much as plain float does, besides 2 ulp of exp, and the rounding
// of what is stored as f16 or bf16. Merged of parts by their logsumexp, a result also carries the
// error of those: an lse of size x is off by up to x 2^-24, and a weight by as much, relative.
enum class Made { whole, merged };
// What the output and the logsumexp may err besides.
struct Allowed {
  double o = 0, lse = 0;
};
inline void expect_exact(Case& c, Made made = Made::whole, Allowed more = {}) {
  const auto truth = c.oracle<double>();
  const auto plain = c.oracle<float>();
  const Errors plain_o = errors(c, truth.o, [&](auto n, auto h, auto i, auto d) {
    return static_cast<double>(plain.o.at(n, h, i, d));
  });
  const Errors o = errors(c, truth.o, [&](auto n, auto h, auto i, auto d) {
    return static_cast<double>(c.out_at(n, h, i, d));
  });
  const double v = largest(c.v);
  const double store = c.q_type == DType::f32 ? 0 : v * rounding(c.q_type) + 0x1p-25;
  double size = 1;
  for (const double x : truth.lse.values)
    if (std::isfinite(x)) size = std::max(size, std::abs(x));
  const double merge = made == Made::merged ? 2 * 0x1p-24 * size * v : 0;
  EXPECT_LE(o.max, 2 * plain_o.max + 2 * 0x1p-23 * v + store + merge + more.o) << c;
  EXPECT_LE(o.mean, 2 * plain_o.mean + 0x1p-23 * v + store + merge + more.o) << c;

  const Errors plain_lse = errors(c, truth.lse, [&](auto n, auto h, auto i, auto) {
    return static_cast<double>(plain.lse.at(n, h, i, 0));
  });
  const Errors lse = errors(c, truth.lse, [&](auto n, auto h, auto i, auto) {
    return static_cast<double>(c.lse_at(n, h, i));
  });
  EXPECT_LE(lse.max, 2 * plain_lse.max + 2 * 0x1p-23 * size + more.lse) << c;
}

// Every length of a row up to some pairs of vectors, and around the larger powers of two.
template <class F>
void for_each_dim(F&& f) {
  for (std::size_t dim = 1; dim <= 72; ++dim) f(dim);
  for (const std::size_t dim : {95, 96, 97, 127, 128, 129, 160, 191, 255, 256, 257, 384, 511, 512})
    f(dim);
}

inline constexpr std::array<DType, 3> kStored = {DType::f32, DType::f16, DType::bf16};

inline PlanInfo plan_of(Case& c, std::size_t threads = 1) {
  return Plan(c.q.view(), c.k.view(), c.v.view(), c.options, {.threads = threads}).info();
}

// Runs a case that `kernel` must take, and holds it to the oracle.
inline void run_and_check(Case& c, std::string_view kernel) {
  ASSERT_EQ(plan_of(c).kernel, kernel) << c;
  c.run();
  expect_exact(c);
}

// k[j][x] = key(j, x) for the first key/value head of the first sequence.
template <class F>
void set_keys(Case& c, F&& key) {
  for (std::size_t j = 0; j < c.n_k; ++j)
    for (std::size_t x = 0; x < c.d_k; ++x) c.k.set(0, 0, j, x, key(j, x));
}

// Calls f(key) with keys that are hard on a softmax.
template <class F>
void for_each_adversarial_key(Random& random, F&& f) {
  f([&](std::size_t, std::size_t) { return 1e4f * random.normal(); });
  f([](std::size_t j, std::size_t) { return j == 700 ? 300.0f : 0.0f; });        // one-hot
  f([](std::size_t, std::size_t) { return 0.7f; });                              // constant
  f([](std::size_t j, std::size_t) { return 1.0f + 0x1p-23f * (j % 3); });       // near-ties
  f([&](std::size_t, std::size_t) { return 1e-40f * random.normal(); });         // denormals
  f([](std::size_t j, std::size_t) { return 0.01f * static_cast<float>(j); });   // rising
  f([](std::size_t j, std::size_t) { return -0.01f * static_cast<float>(j); });  // falling
}

// Runs a test body once per target that this machine can run, forced.
template <class F>
void for_each_target(F&& f) {
  for (const std::string& target : supported_targets()) {
    SCOPED_TRACE(target);
    ASSERT_EQ(::setenv("HEED_FORCE_TARGET", target.c_str(), 1), 0);
    f(target);
  }
  ::unsetenv("HEED_FORCE_TARGET");
}

}  // namespace heed::test
