// The micro-kernels of decode over int8: integers times integers, where the target has them.
//
// As floats, every byte would be converted first and then be multiplied eight to an instruction.
// Here it is widened to 16 bits, sixteen to an instruction, and so are queries and weights: rounded
// to multiples of a step, 32767 of which make the largest of them. Sums of 32 bits are exact, so
// that neither pages nor strips can change a bit. What rounding adds to the error:
//
//   scores   at most half a step of q times the sum of |k|
//   values   at most half a step of the weights times the sum of |v| over a block of keys; each
//            block has a step of its own, as one large weight would leave the others few digits
//
// What does not fit this (NaN, infinity, very small numbers, long rows) is left to floats.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/decode-inl.h"
#include "kernels/decode_task.h"
#include "kernels/scores-inl.h"

#if defined(HEED_KERNELS_DECODE_INT8_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_DECODE_INT8_INL_H
#undef HEED_KERNELS_DECODE_INT8_INL_H
#else
#define HEED_KERNELS_DECODE_INT8_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

#if HEED_PAIR_PRODUCTS
inline constexpr float kMostSteps = 32767;
// 512 products of 127 steps at most are 0.99 * 2^31: so many columns of a key, so many keys.
inline constexpr std::size_t kMostTerms = 512;
inline constexpr std::size_t kBlockKeys = kernels::kDecodeBlockKeys;
static_assert(kBlockKeys <= kMostTerms);
// Of smaller numbers the step, or its inverse, would have fewer digits than they deserve.
inline constexpr float kLeastLargest = 0x1p-60f;
// Weights are rounded as if one of a block had at least this size: where the values are not as
// small as that, the others of the row are far larger.
inline constexpr float kLeastWeight = 0x1p-100f;

// kPair elements as 16 bits; fewer, the rest 0.
HWY_INLINE VI16 LoadWide(const std::int8_t* p) {
  return hn::PromoteTo(DI16(), hn::LoadU(hn::Rebind<std::int8_t, DI16>(), p));
}
HWY_INLINE VI16 LoadSomeWide(const std::int8_t* p, std::size_t count) {
  std::int8_t lanes[kPair] = {};
  for (std::size_t c = 0; c < count; ++c) lanes[c] = p[c];
  return LoadWide(lanes);
}

// --- Rounding -----------------------------------------------------------------------------------

// Whether numbers with this largest magnitude can be rounded to steps of it.
HWY_INLINE bool FitsSteps(float largest) {
  return largest == 0.0f || (largest >= kLeastLargest && largest < kInf);
}

// The largest |x| of n floats, a multiple of kLanes; infinite or NaN if any is. As integers their
// bits are in the order of magnitudes, and NaN comes last.
HWY_INLINE float LargestMagnitude(const float* x, std::size_t n) {
  const D d;
  const DI di;
  VI largest = hn::Zero(di);
  for (std::size_t c = 0; c < n; c += kLanes)
    largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + c))));
  return hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(di, largest)));
}

// Rounds x [n], finite, n a multiple of kLanes, to multiples of a step, which is returned: such
// that `largest`, which no |x| exceeds, is kMostSteps of them.
HWY_INLINE float RoundToSteps(const float* x, std::size_t n, float largest, std::int16_t* to) {
  const D d;
  const DI di;
  const hn::Rebind<std::int16_t, D> d16;
  const V inverse = hn::Set(d, largest == 0.0f ? 0.0f : kMostSteps / largest);
  // A sum with no room for a fraction: its last bits are the integer.
  const V no_fraction = hn::Set(d, 0x1.8p23f);
  for (std::size_t c = 0; c < n; c += kLanes) {
    const V sum = hn::MulAdd(inverse, hn::LoadU(d, x + c), no_fraction);
    const VI steps = hn::Sub(hn::BitCast(di, sum), hn::BitCast(di, no_fraction));
    hn::StoreU(hn::DemoteTo(d16, steps), d16, to + c);
  }
  return largest / kMostSteps;
}

// --- Rows ---------------------------------------------------------------------------------------

// Calls f(kPairs) for the usual rows, which have kPairs pairs (of AVX2: 128 and 64 columns), so
// that there is no branch in a row; 0: for any other.
template <class F>
HWY_INLINE void WithPairs(std::size_t dim, F&& f) {
  if (dim == 8 * kPair) return f(std::integral_constant<std::size_t, 8>());
  if (dim == 4 * kPair) return f(std::integral_constant<std::size_t, 4>());
  f(std::integral_constant<std::size_t, 0>());
}

// Calls f(c, load) for every pair of a row, where load(p) gives its elements as 16 bits.
template <std::size_t kPairs, class F>
HWY_INLINE void ForWide(std::size_t dim, F&& f) {
  const auto load = [](const std::int8_t* p) HEED_INLINED { return LoadWide(p); };
  if constexpr (kPairs != 0) {
    HEED_UNROLL
    for (std::size_t n = 0; n < kPairs; ++n) f(n * kPair, load);
  } else {
    std::size_t c = 0;
    for (; c + 4 * kPair <= dim; c += 4 * kPair) {
      HEED_UNROLL
      for (std::size_t n = 0; n < 4; ++n) f(c + n * kPair, load);
    }
    for (; c + kPair <= dim; c += kPair) f(c, load);
    if (c == dim) return;
    f(c, [&](const std::int8_t* p) HEED_INLINED { return LoadSomeWide(p, dim - c); });
  }
}

// --- Scores -------------------------------------------------------------------------------------

// acc[r][x] += q_r[c..] * k_x
template <std::size_t kRows, std::size_t kKeys>
HWY_INLINE void AddProducts(const std::int16_t* q, std::size_t q_stride, const VI16 (&k)[kKeys],
                            VI (&acc)[kRows][kKeys]) {
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    VI16 qr = hn::LoadU(DI16(), q + r * q_stride);
    InRegister(qr);
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) {
      acc[r][x] = AddPairProducts(qr, k[x], acc[r][x]);
      InRegister(acc[r][x]);
    }
  }
}

// s[r * stride + x] <- the sum over the lanes of acc[r][x].
template <std::size_t kRows, std::size_t kKeys>
HWY_INLINE void StoreSums(const VI (&acc)[kRows][kKeys], std::int32_t* s, std::size_t stride) {
  const DI d;
  const hn::FixedTag<std::int32_t, 4> four;
  if constexpr (kKeys == 4) {
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      hn::StoreU(SumOf4(d, acc[r][0], acc[r][1], acc[r][2], acc[r][3]), four, s + r * stride);
  } else if constexpr (kKeys == 2) {
    const hn::Half<decltype(four)> two;
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; r += 2) {
      const auto sums = SumOf4(d, acc[r][0], acc[r][1], acc[r + 1][0], acc[r + 1][1]);
      hn::StoreU(hn::LowerHalf(two, sums), two, s + r * stride);
      hn::StoreU(hn::UpperHalf(two, sums), two, s + (r + 1) * stride);
    }
  } else {
    std::int32_t sums[4];
    hn::StoreU(SumOf4(d, acc[0][0], acc[1 % kRows][0], acc[2 % kRows][0], acc[3 % kRows][0]), four,
               sums);
    for (std::size_t r = 0; r < kRows; ++r) s[r * stride] = sums[r];
  }
}

// Adding is not part of multiplying here and needs a register for its product: of four rows two
// keys fit.
template <std::size_t kRows>
inline constexpr std::size_t kBytesAtOnce = kRows == 4 ? 2 : 4;

// What is scored: s_rj <- q_r . k_j, in steps of q_r. q is padded with 0 to whole pairs; rows of at
// most kMostTerms columns.
struct ByteScores {
  const std::int16_t* q = nullptr;  // q_r = q + r * q_stride
  std::size_t q_stride = 0;
  Rows k;
  std::size_t keys = 0, dim = 0;
  std::int32_t* s = nullptr;  // s_rj = s[r * s_stride + j]
  std::size_t s_stride = 0;
};

// kKeys keys from number j on.
template <std::size_t kPairs, std::size_t kRows, std::size_t kKeys>
HWY_INLINE void ScoreBytes(const ByteScores& scores, std::size_t j) {
  VI acc[kRows][kKeys];
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) acc[r][x] = hn::Zero(DI());
  }
  const KeyRows<std::int8_t, kKeys> keys(scores.k.from(j));
  const std::int16_t* HWY_RESTRICT q = scores.q;
  const std::size_t q_stride = scores.q_stride;
  VI16 k[kKeys];
  ForWide<kPairs>(scores.dim, [&](std::size_t c, auto&& load) HEED_INLINED {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) k[x] = load(keys.row[x] + c);
    AddProducts(q + c, q_stride, k, acc);
  });
  StoreSums(acc, scores.s + j, scores.s_stride);
}

// Not inlined, nor MixByteRows: the caller's variables would push theirs out of the registers.
template <std::size_t kPairs, std::size_t kRows>
HEED_KERNEL void ScoreByteRows(const ByteScores& given, Asking asking) {
  constexpr std::size_t kKeys = kBytesAtOnce<kRows>;
  const ByteScores scores = given;
  std::size_t j = 0;
  for (; j + kKeys <= scores.keys; j += kKeys) {
    PrefetchAhead(scores.k.from(j), asking, kKeys, scores.dim);
    ScoreBytes<kPairs, kRows, kKeys>(scores, j);
  }
  PrefetchAhead(scores.k.from(j), asking, scores.keys - j, scores.dim);
  for (; j < scores.keys; ++j) ScoreBytes<0, kRows, 1>(scores, j);
}

// The scores of kRows rows.
template <std::size_t kRows>
HWY_INLINE void ScoreByteBlock(const ByteScores& scores, Asking asking) {
  WithPairs(scores.dim, [&](auto pairs) { ScoreByteRows<pairs, kRows>(scores, asking); });
}

// s[j] <- sums[j] * step * scales[j], up to the next multiple of kLanes; may be the same memory.
HWY_INLINE void ToScores(const std::int32_t* sums, std::size_t cols, float step,
                         const float* scales, float* s) {
  const D d;
  const V v = hn::Set(d, step);
  for (std::size_t j = 0; j < cols; j += kLanes) {
    const V sum = hn::Mul(hn::ConvertTo(d, hn::LoadU(DI(), sums + j)), v);
    hn::StoreU(hn::Mul(sum, hn::LoadU(d, scales + j)), d, s + j);
  }
}

// --- Values -------------------------------------------------------------------------------------

// Weights in steps of their block, and sums in those steps. Two values are interleaved, so that a
// product of pairs adds both: sums are in the order of InBlockOrder.
using ByteMix = Mixture<std::int16_t, std::int32_t>;

// The weights of keys p[0] and, unless it is the last, p[1], side by side in every lane.
template <bool kLast>
HWY_INLINE VI16 PairOfWeights(const std::int16_t* p) {
  std::int32_t pair = 0;
  std::memcpy(&pair, p, kLast ? sizeof(*p) : sizeof(pair));
  return hn::BitCast(DI16(), hn::Set(DI(), pair));
}

// kTwos pairs of values from number j on; of the last pair of an odd number, only the first.
template <std::size_t kPairs, std::size_t kRows, std::size_t kTwos, bool kLast = false>
HWY_INLINE void MixPairs(const ByteMix& mix, std::size_t j) {
  const DI16 d16;
  const DI di;
  VI16 p[kRows][kTwos];
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kTwos; ++x) {
      p[r][x] = PairOfWeights<kLast>(mix.p + r * mix.p_stride + j + 2 * x);
      InRegister(p[r][x]);
    }
  }
  const Rows rows = mix.v.from(j);
  const std::int8_t* row[2 * kTwos];
  HEED_UNROLL
  for (std::size_t x = 0; x < 2 * kTwos; ++x) row[x] = rows.row<std::int8_t>(kLast ? 0 : x);
  std::int32_t* HWY_RESTRICT o = mix.o;
  const std::size_t o_stride = mix.o_stride;
  ForWide<kPairs>(mix.dim, [&](std::size_t c, auto&& load) HEED_INLINED {
    VI16 low[kTwos], high[kTwos];
    HEED_UNROLL
    for (std::size_t x = 0; x < kTwos; ++x) {
      const VI16 first = load(row[2 * x] + c), second = load(row[2 * x + 1] + c);
      low[x] = hn::InterleaveLower(d16, first, second);
      high[x] = hn::InterleaveUpper(d16, first, second);
    }
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int32_t* to = o + r * o_stride + c;
      VI sum = hn::LoadU(di, to), next = hn::LoadU(di, to + kLanes);
      HEED_UNROLL
      for (std::size_t x = 0; x < kTwos; ++x) {
        sum = AddPairProducts(low[x], p[r][x], sum);
        next = AddPairProducts(high[x], p[r][x], next);
      }
      hn::StoreU(sum, di, to);
      hn::StoreU(next, di, to + kLanes);
    }
  });
}

template <std::size_t kPairs, std::size_t kRows>
HEED_KERNEL void MixByteRows(const ByteMix& mix, Asking asking) {
  constexpr std::size_t kKeys = 4;
  std::size_t j = 0;
  for (; j + kKeys <= mix.keys; j += kKeys) {
    PrefetchAhead(mix.v.from(j), asking, kKeys, mix.dim);
    MixPairs<kPairs, kRows, kKeys / 2>(mix, j);
  }
  PrefetchAhead(mix.v.from(j), asking, mix.keys - j, mix.dim);
  for (; j + 2 <= mix.keys; j += 2) MixPairs<0, kRows, 1>(mix, j);
  if (j < mix.keys) MixPairs<0, kRows, 1, true>(mix, j);
}

// Adds values of one block of weights to kRows rows of sums.
template <std::size_t kRows>
HWY_INLINE void MixByteBlock(const ByteMix& mix, Asking asking) {
  WithPairs(mix.dim, [&](auto pairs) { MixByteRows<pairs, kRows>(mix, asking); });
}

// o += step * sums, and the sums become 0. n a multiple of kLanes.
HWY_INLINE void TakeSums(float step, std::int32_t* sums, std::size_t n, float* o) {
  const D d;
  const DI di;
  const V v = hn::Set(d, step);
  for (std::size_t c = 0; c < n; c += kLanes) {
    const V sum = hn::ConvertTo(d, hn::LoadU(di, sums + c));
    hn::StoreU(hn::MulAdd(v, sum, hn::LoadU(d, o + c)), d, o + c);
    hn::StoreU(hn::Zero(di), di, sums + c);
  }
}

// As MixBlock, for sums in the order of InBlockOrder: whatever the weights are, and slow.
HWY_INLINE void MixByteByByte(const Mix& mix) {
  for (std::size_t j = 0; j < mix.keys; ++j) {
    const std::int8_t* v = mix.v.row<std::int8_t>(j);
    for (std::size_t c = 0; c < mix.dim; ++c)
      mix.o[InBlockOrder(c)] += mix.p[j] * static_cast<float>(v[c]);
  }
}
#endif  // HEED_PAIR_PRODUCTS

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
