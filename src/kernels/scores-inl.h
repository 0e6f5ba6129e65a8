// Steps 2 to 4 of the operator on a tile of scores: soft-cap, bias, ALiBi, score_mod, mask; and the
// softmax step. Both kernels use these, so each rule exists once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/convert-inl.h"
#include "kernels/exp-inl.h"
#include "kernels/kernel.h"

#if defined(HEED_KERNELS_SCORES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_SCORES_INL_H
#undef HEED_KERNELS_SCORES_INL_H
#else
#define HEED_KERNELS_SCORES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

// Scores s[rows, cols] of one head. Row r is query `query + r`, column c is key `key + c`. Rows may
// be read and written up to the next multiple of kLanes columns.
struct Tile {
  float* s = nullptr;
  std::size_t stride = 0, rows = 0, cols = 0;
  std::size_t sequence = 0, head = 0, query = 0, key = 0;
  double position = 0;       // of query `query` among the keys, minus `key`
  float* scratch = nullptr;  // `cols` floats, rounded up to kLanes
};

// Calls f(c, count) for every vector of a row of `cols`; count < kLanes for the last, incomplete
// one.
template <class F>
HWY_INLINE void ForVectors(std::size_t cols, F&& f) {
  std::size_t c = 0;
  for (; c + kLanes <= cols; c += kLanes) f(c, kLanes);
  if (c < cols) f(c, cols - c);
}

// Where the entries of row r of a tile begin in a mask or bias.
HWY_INLINE const std::byte* ScoreAddress(const ScoreView& view, const Tile& tile, std::size_t r) {
  const std::ptrdiff_t element = static_cast<std::ptrdiff_t>(tile.sequence) * view.strides[0] +
                                 static_cast<std::ptrdiff_t>(tile.head) * view.strides[1] +
                                 static_cast<std::ptrdiff_t>(tile.query + r) * view.strides[2] +
                                 static_cast<std::ptrdiff_t>(tile.key) * view.strides[3];
  return static_cast<const std::byte*>(view.data) +
         element * static_cast<std::ptrdiff_t>(size_of(view.dtype));
}

template <class T>
HWY_INLINE const T* RowOf(const ScoreView& view, const Tile& tile, std::size_t r) {
  return reinterpret_cast<const T*>(ScoreAddress(view, tile, r));
}

HWY_INLINE float ToFloat(float x) {
  return x;
}
HWY_INLINE float ToFloat(double x) {  // what is finite stays finite
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::isinf(x) ? x : std::clamp(x, -kMost, kMost));
}
HWY_INLINE float ToFloat(f16 x) {
  return to_float(x);
}
HWY_INLINE float ToFloat(bf16 x) {
  return to_float(x);
}

inline void CapScores(const kernels::ScoreRules& rules, const Tile& tile) {
  const V cap = hn::Set(D(), rules.cap);
  for (std::size_t r = 0; r < tile.rows; ++r) {
    float* s = tile.s + r * tile.stride;
    for (std::size_t c = 0; c < tile.cols; c += kLanes)
      hn::StoreU(hn::Mul(cap, Tanh(hn::LoadU(D(), s + c))), D(), s + c);
  }
}

// x * unit, where what is finite stays finite: people write the lowest float to mean "hardly", and
// times log2(e) it would become -infinity.
HWY_INLINE V InUnits(V x, V unit) {
  const D d;
  const V most = hn::Set(d, std::numeric_limits<float>::max());
  const V product = AtMost(AtLeast(hn::Mul(x, unit), hn::Neg(most)), most);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), most), x, product);
}

// A bias whose product with the unit is finite.
inline constexpr float kUsualBias = std::numeric_limits<float>::max() / 2;

// x + unit * bias; -infinity hides whatever the score was, NaN included.
HWY_INLINE V Biased(V x, V bias, V unit) {
  const D d;
  const V hidden = hn::Set(d, -kInf);
  const V usual = hn::Set(d, kUsualBias);
  const V sum = hn::IfThenElse(hn::Gt(hn::Abs(bias), usual), hn::Add(x, InUnits(bias, unit)),
                               hn::MulAdd(bias, unit, x));
  return hn::IfThenElse(hn::Eq(bias, hidden), hidden, sum);
}

// s += unit * bias, a few vectors at a time: nearly always a multiply-add will do for all of them.
template <class T>
HWY_INLINE void AddBiasRow(float unit, const T* bias, float* s, std::size_t cols) {
  constexpr std::size_t kVectors = 4;
  const D d;
  const V u = hn::Set(d, unit), usual = hn::Set(d, kUsualBias);
  std::size_t c = 0;
  for (; c + kVectors * kLanes <= cols; c += kVectors * kLanes) {
    V b[kVectors];
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n) b[n] = LoadAs(d, bias + c + n * kLanes);
    V least = hn::Zero(d), most = hn::Zero(d);  // NaN is passed over: it needs no care
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n) {
      least = AtMost(least, b[n]);
      most = AtLeast(most, b[n]);
    }
    const bool all_usual =
        hn::AllFalse(d, hn::Or(hn::Lt(least, hn::Neg(usual)), hn::Gt(most, usual)));
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n) {
      float* to = s + c + n * kLanes;
      const V x = hn::LoadU(d, to);
      hn::StoreU(all_usual ? hn::MulAdd(b[n], u, x) : Biased(x, b[n], u), d, to);
    }
  }
  ForVectors(cols - c, [&](std::size_t i, std::size_t count) {
    float* to = s + c + i;
    hn::StoreU(Biased(hn::LoadU(d, to), LoadUpTo(bias + c + i, count), u), d, to);
  });
}

template <class T>
inline void AddBiasAs(const kernels::ScoreRules& rules, const Tile& tile) {
  const std::ptrdiff_t step = rules.bias.strides[3];
  for (std::size_t r = 0; r < tile.rows; ++r) {
    const T* row = RowOf<T>(rules.bias, tile, r);
    float* s = tile.s + r * tile.stride;
    if constexpr (!std::is_same_v<T, double>) {
      if (step == 1) {
        AddBiasRow(rules.unit, row, s, tile.cols);
        continue;
      }
    }
    for (std::size_t c = 0; c < tile.cols; ++c)
      tile.scratch[c] = ToFloat(row[static_cast<std::ptrdiff_t>(c) * step]);
    AddBiasRow(rules.unit, tile.scratch, s, tile.cols);
  }
}

inline void AddBias(const kernels::ScoreRules& rules, const Tile& tile) {
  switch (rules.bias.dtype) {
    case DType::f16: return AddBiasAs<f16>(rules, tile);
    case DType::bf16: return AddBiasAs<bf16>(rules, tile);
    case DType::f64: return AddBiasAs<double>(rules, tile);
    default: return AddBiasAs<float>(rules, tile);
  }
}

// s -= unit * slope * |i + offset - j|
inline void AddAlibi(const kernels::ScoreRules& rules, const Tile& tile) {
  const D d;
  const V slope = hn::Set(d, -rules.slopes[tile.head] * rules.unit);
  for (std::size_t r = 0; r < tile.rows; ++r) {
    float* s = tile.s + r * tile.stride;
    const double position = tile.position + static_cast<double>(r);
    for (std::size_t c = 0; c < tile.cols; c += kLanes) {
      const V first = hn::Set(d, static_cast<float>(position - static_cast<double>(c)));
      const V distance = hn::Abs(hn::Sub(first, hn::Iota(d, 0)));
      hn::StoreU(hn::MulAdd(distance, slope, hn::LoadU(d, s + c)), d, s + c);
    }
  }
}

inline void ModifyScores(const kernels::ScoreRules& rules, const Tile& tile) {
  rules.mod.f32({.s = tile.s,
                 .rows = tile.rows,
                 .cols = tile.cols,
                 .stride = tile.stride,
                 .batch = tile.sequence,
                 .head = tile.head,
                 .query = tile.query,
                 .key = tile.key},
                rules.mod.user);
  const V log2e = hn::Set(D(), static_cast<float>(kernels::kLog2E));
  for (std::size_t r = 0; r < tile.rows; ++r) {
    float* s = tile.s + r * tile.stride;
    for (std::size_t c = 0; c < tile.cols; c += kLanes)
      hn::StoreU(InUnits(hn::LoadU(D(), s + c), log2e), D(), s + c);
  }
}

// s <- -infinity where the mask is 0.
HWY_INLINE void MaskRow(const std::uint8_t* mask, float* s, std::size_t cols) {
  const D d;
  const DI di;
  const hn::Rebind<std::uint8_t, D> d8;
  ForVectors(cols, [&](std::size_t c, std::size_t count) {
    std::uint8_t some[kLanes] = {};
    for (std::size_t n = 0; count < kLanes && n < count; ++n) some[n] = mask[c + n];
    const auto bytes = hn::LoadU(d8, count == kLanes ? mask + c : some);
    const auto hidden = hn::Eq(hn::PromoteTo(di, bytes), hn::Zero(di));
    hn::StoreU(hn::IfThenElse(hn::RebindMask(d, hidden), hn::Set(d, -kInf), hn::LoadU(d, s + c)), d,
               s + c);
  });
}

inline void MaskScores(const kernels::ScoreRules& rules, const Tile& tile) {
  const std::ptrdiff_t step = rules.mask.strides[3];
  auto* bytes = reinterpret_cast<std::uint8_t*>(tile.scratch);
  for (std::size_t r = 0; r < tile.rows; ++r) {
    const std::uint8_t* row = RowOf<std::uint8_t>(rules.mask, tile, r);
    if (step != 1) {
      for (std::size_t c = 0; c < tile.cols; ++c)
        bytes[c] = row[static_cast<std::ptrdiff_t>(c) * step];
      row = bytes;
    }
    MaskRow(row, tile.s + r * tile.stride, tile.cols);
  }
}

// What the bias hides stays hidden whatever score_mod wrote there.
inline void HideByBias(const kernels::ScoreRules& rules, const Tile& tile) {
  for (std::size_t r = 0; r < tile.rows; ++r)
    for (std::size_t c = 0; c < tile.cols; ++c)
      if (kernels::bias_hides(rules, tile.sequence, tile.head, tile.query + r, tile.key + c))
        tile.s[r * tile.stride + c] = -kInf;
}

// Steps 2 and 3 but for score_mod.
inline void CapAndBias(const kernels::ScoreRules& rules, const Tile& tile) {
  if (rules.capped) CapScores(rules, tile);
  if (rules.bias) AddBias(rules, tile);
  if (!rules.slopes.empty()) AddAlibi(rules, tile);
}

// Steps 2 to 4 except for the range of visible keys.
inline void ChangeScores(const kernels::ScoreRules& rules, const Tile& tile) {
  CapAndBias(rules, tile);
  if (rules.mod) {
    ModifyScores(rules, tile);
    if (rules.bias) HideByBias(rules, tile);
  }
  if (rules.mask) MaskScores(rules, tile);
}

// largest[r] = the largest of s[r * stride + [0, n)], n a multiple of kLanes; NaN may be passed
// over.
template <std::size_t R>
HWY_INLINE void MaxOfRows(const float* s, std::size_t stride, std::size_t n, float* largest) {
  const D d;
  V m[R];
  HEED_UNROLL
  for (std::size_t r = 0; r < R; ++r) m[r] = hn::Set(d, -kInf);
  for (std::size_t c = 0; c < n; c += kLanes) {
    HEED_UNROLL
    for (std::size_t r = 0; r < R; ++r) m[r] = hn::Max(m[r], hn::LoadU(d, s + r * stride + c));
  }
  for (std::size_t r = 0; r < R; ++r) largest[r] = MaxLanes(m[r]);
}

// 2^n for an integer n <= 0; 0 below -126.
HWY_INLINE float PowerOfTwo(float n) {
  if (!(n >= -126.0f)) return 0.0f;
  return std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

// Grows m to cover a score. m is kept an integer, so that rescaling is exact. Returns the factor
// that rescales what has been accumulated so far.
HWY_INLINE float GrowMax(float score, float& m) {
  const float before = m;
  m = score > m ? std::ceil(score) : m;
  return PowerOfTwo(before - m);  // 0 from -infinity
}

// s <- 2^(s - m) for N vectors, which are added to the first sums.
template <std::size_t N, std::size_t Sums, class Exp>
HWY_INLINE void ExpVectors(const Exp& exp, float* s, V (&sum)[Sums]) {
  const D d;
  V x[N];
  HEED_UNROLL
  for (std::size_t n = 0; n < N; ++n) x[n] = hn::LoadU(d, s + n * kLanes);
  exp.Apply(x);
  HEED_UNROLL
  for (std::size_t n = 0; n < N; ++n) {
    hn::StoreU(x[n], d, s + n * kLanes);
    sum[n] = hn::Add(sum[n], x[n]);
  }
}

// s[0, n) <- exp(s); returns the sums of every kLanes-th. n a multiple of kLanes.
template <class Exp>
HWY_INLINE V Transform(const Exp& exp, float* s, std::size_t n) {
  const D d;
  // With more, constants leave their registers; where a vector is one number, summing in few places
  // would cost digits.
  constexpr std::size_t kAtOnce = kLanes == 1 ? 8 : 2;
  V sum[kAtOnce];
  HEED_UNROLL
  for (V& x : sum) x = hn::Zero(d);
  std::size_t c = 0;
  for (; c + kAtOnce * kLanes <= n; c += kAtOnce * kLanes) ExpVectors<kAtOnce>(exp, s + c, sum);
  for (; c < n; c += kLanes) ExpVectors<1>(exp, s + c, sum);
  V total = sum[0];
  for (std::size_t k = 1; k < kAtOnce; ++k) total = hn::Add(total, sum[k]);
  return total;
}

// 2^(x - m) for an m that Exp2Minus does not take.
struct Exp2MinusFar {
  V reference;

  template <std::size_t N>
  HWY_INLINE void Apply(V (&x)[N]) const {
    HEED_UNROLL
    for (V& y : x) y = hn::Sub(y, reference);
    Exp2Minus(0.0f).Apply(x);
  }
};

// s[0, n) <- 2^(s - m), for an m from GrowMax; returns the sums of every kLanes-th.
HWY_INLINE V ExpOf(float* s, std::size_t n, float m) {
  if (m == -kInf) m = 0.0f;  // nothing visible yet: avoid -inf - -inf
  if (std::fabs(m) <= 0x1p21f) return Transform(Exp2Minus(m), s, n);
  return Transform(Exp2MinusFar{hn::Set(D(), m)}, s, n);
}

// The softmax step for one row: s[0, n) <- 2^(s - m) with m grown to cover it, l to match. n a
// multiple of kLanes. Returns the factor that rescales what has been accumulated so far.
HWY_INLINE float SoftmaxStep(float* s, std::size_t n, float& m, float& l) {
  float largest;
  MaxOfRows<1>(s, 0, n, &largest);
  const float factor = GrowMax(largest, m);
  l = l * factor + SumLanes(ExpOf(s, n, m));
  return factor;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
