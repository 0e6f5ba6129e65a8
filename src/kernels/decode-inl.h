// The micro-kernels of decode: a few query rows against keys and values that are read once.
//
// Scores: up to 4 rows x 2 keys (8 accumulators, summed across lanes at the end of the row).
// Values: up to 4 rows x 2 vectors of columns (8 accumulators, one key after the other).
// Both walk blocks of rows, small enough that further query rows find the block in the
// first-level cache, and ask for the block that comes next while they work: this memory traffic is
// all the time that decode should take.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/convert-inl.h"

#if defined(HEED_KERNELS_DECODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_DECODE_INL_H
#undef HEED_KERNELS_DECODE_INL_H
#else
#define HEED_KERNELS_DECODE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Rows of one block: a 4 KiB page of them. Larger ones take the value kernel, which walks a block
// in strips of columns, too far from the order of the memory.
inline std::size_t BlockRows(std::size_t row_bytes) {
  constexpr std::size_t kBlockBytes = 4096, kLeast = 4, kMost = 64;
  return std::clamp(kBlockBytes / row_bytes / kLeast * kLeast, kLeast, kMost);
}
inline constexpr std::size_t kPair = 2 * kLanes;  // columns that one step takes

// Rows of keys or values, `step` bytes apart.
struct Rows {
  const std::byte* data = nullptr;
  std::ptrdiff_t step = 0;
  template <class T>
  const T* row(std::size_t j) const {
    return reinterpret_cast<const T*>(from(j).data);
  }
  Rows from(std::size_t j) const { return {data + static_cast<std::ptrdiff_t>(j) * step, step}; }
};

// Asks for a block of rows, a few rows at a time while another block is worked on. Left to itself
// the hardware loses the order in the strips of columns that the value kernel walks, and starts
// anew with every 4 KiB page.
class Prefetcher {
 public:
  // `count` rows of `bytes` bytes.
  Prefetcher(Rows rows, std::size_t bytes, std::size_t count)
      : rows_(rows), bytes_(bytes), left_(count) {}

  HWY_INLINE void Next(std::size_t count) {
    for (count = count < left_ ? count : left_; count != 0; --count, --left_) {
      for (std::size_t n = 0; n < bytes_; n += kLine) Prefetch(rows_.data + n);
      rows_ = rows_.from(1);
    }
  }

 private:
  static constexpr std::size_t kLine = 64;
  Rows rows_;
  std::size_t bytes_, left_;
};

// kPair neighbours in the order that is cheapest to load: q and o follow it (InPairOrder).
struct Pair {
  V a, b;
};
template <class T>
HWY_INLINE Pair LoadPair(const T* p) {
  return {LoadAs(D(), p), LoadAs(D(), p + kLanes)};
}
#if HEED_WITH_HIGHWAY && HWY_TARGET != HWY_SCALAR
// Even elements, odd elements: one shift and one mask where keeping the order costs two shuffles
// and two shifts, on ports that the products need.
HWY_INLINE Pair LoadPair(const bf16* p) {
  const hn::RebindToUnsigned<D> du;
  const auto both = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(p));
  return {hn::BitCast(D(), hn::ShiftLeft<16>(both)),
          hn::BitCast(D(), hn::And(both, hn::Set(du, 0xffff0000u)))};
}
#endif

// Where LoadPair puts element c of a row of `dim`.
template <class T>
HWY_INLINE std::size_t InPairOrder(std::size_t c, std::size_t dim) {
  if (!std::is_same_v<T, bf16> || c >= dim / kPair * kPair) return c;
  const std::size_t within = c % kPair;
  return c - within + (within % 2) * kLanes + within / 2;
}

// The four vectors summed over their lanes, each in the same order.
#if HEED_WITH_HIGHWAY && HWY_TARGET != HWY_SCALAR
using Four = hn::Vec<hn::FixedTag<float, 4>>;
template <class DF>
HWY_INLINE Four SumOfBlocks(DF df, hn::Vec<DF> v) {
  if constexpr (hn::MaxLanes(DF()) == 4) {
    return v;
  } else {
    const hn::Half<DF> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
HWY_INLINE Four SumOf4(V a, V b, V c, V e) {
  const D d;
  const hn::Repartition<double, D> d64;
  const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab64 = hn::BitCast(d64, ab), ce64 = hn::BitCast(d64, ce);
  return SumOfBlocks(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, ab64, ce64)),
                                hn::BitCast(d, hn::InterleaveUpper(d64, ab64, ce64))));
}
HWY_INLINE void StoreFour(Four v, float* p) {
  hn::StoreU(v, hn::FixedTag<float, 4>(), p);
}
HWY_INLINE void StoreTwoAndTwo(Four v, float* first, float* second) {
  const hn::FixedTag<float, 2> two;
  hn::StoreU(hn::LowerHalf(two, v), two, first);
  hn::StoreU(hn::UpperHalf(two, v), two, second);
}
#else
struct Four {
  float x[4];
};
HWY_INLINE Four SumOf4(V a, V b, V c, V e) {
  return {{hn::GetLane(a), hn::GetLane(b), hn::GetLane(c), hn::GetLane(e)}};
}
HWY_INLINE void StoreFour(Four v, float* p) {
  for (std::size_t n = 0; n < 4; ++n) p[n] = v.x[n];
}
HWY_INLINE void StoreTwoAndTwo(Four v, float* first, float* second) {
  for (std::size_t n = 0; n < 2; ++n) {
    first[n] = v.x[n];
    second[n] = v.x[2 + n];
  }
}
#endif

// s[r * stride + x] <- the sum over the lanes of acc[r][x]
template <std::size_t kRows, std::size_t kKeys>
HWY_INLINE void StoreSums(const V (&acc)[kRows][kKeys], float* s, std::size_t stride) {
  if constexpr (kKeys == 4) {
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      StoreFour(SumOf4(acc[r][0], acc[r][1], acc[r][2], acc[r][3]), s + r * stride);
  } else if constexpr (kKeys == 2) {
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; r += 2)
      StoreTwoAndTwo(SumOf4(acc[r][0], acc[r][1], acc[r + 1][0], acc[r + 1][1]), s + r * stride,
                     s + (r + 1) * stride);
  } else {
    float sums[4];
    StoreFour(SumOf4(acc[0][0], acc[1 % kRows][0], acc[2 % kRows][0], acc[3 % kRows][0]), sums);
    for (std::size_t r = 0; r < kRows; ++r) s[r * stride] = sums[r];
  }
}

// Keeps v in a register: GCC would load it again for every use, and loads would be the limit.
HWY_INLINE void InRegister(V& v) {
#if HEED_WITH_HIGHWAY && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && defined(__GNUC__)
  asm("" : "+v"(v.raw));
#else
  static_cast<void>(v);
#endif
}

// acc[r][x] += q_r[c..] * k_x[c..]
template <std::size_t kRows, std::size_t kKeys>
HWY_INLINE void AddProducts(const float* q, std::size_t q_stride, const V (&k)[kKeys],
                            V (&acc)[kRows][kKeys]) {
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    V qr = hn::LoadU(D(), q + r * q_stride);
    InRegister(qr);
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) acc[r][x] = hn::MulAdd(qr, k[x], acc[r][x]);
  }
}

// s[r * stride + x] <- q_r . k_x for kRows rows of q [q_stride apart, padded with 0] and kKeys
// keys.
template <class T, std::size_t kRows, std::size_t kKeys>
HWY_INLINE void ScoreKeys(const float* HWY_RESTRICT q, std::size_t q_stride, Rows k,
                          std::size_t dim, float* HWY_RESTRICT s, std::size_t stride,
                          Prefetcher& ahead) {
  V acc[kRows][kKeys];
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) acc[r][x] = hn::Zero(D());
  }
  ahead.Next(kKeys);
  const T* row[kKeys];
  HEED_UNROLL
  for (std::size_t x = 0; x < kKeys; ++x) row[x] = k.row<T>(x);
  const auto add_pair = [&](std::size_t c) HWY_ATTR {
    V a[kKeys], b[kKeys];
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) {
      const Pair pair = LoadPair(row[x] + c);
      a[x] = pair.a;
      b[x] = pair.b;
    }
    AddProducts(q + c, q_stride, a, acc);
    AddProducts(q + c + kLanes, q_stride, b, acc);
  };
  // Eight pairs without a branch: of rows of 128 floats 97 % of the bandwidth instead of 83 %.
  std::size_t c = 0;
  const auto add_pairs = [&](auto count) HWY_ATTR {
    constexpr std::size_t kCount = decltype(count)::value;
    for (; c + kCount * kPair <= dim; c += kCount * kPair) {
      if constexpr (kCount == 1) {
        add_pair(c);
      } else {
        HEED_UNROLL
        for (std::size_t n = 0; n < kCount; ++n) add_pair(c + n * kPair);
      }
    }
  };
  add_pairs(std::integral_constant<std::size_t, 8>());
  add_pairs(std::integral_constant<std::size_t, 4>());
  add_pairs(std::integral_constant<std::size_t, 1>());
  V last[kKeys];
  if (c + kLanes <= dim) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) last[x] = LoadAs(D(), row[x] + c);
    AddProducts(q + c, q_stride, last, acc);
    c += kLanes;
  }
  if (c < dim) {
    for (std::size_t x = 0; x < kKeys; ++x) last[x] = LoadSome(D(), row[x] + c, dim - c);
    AddProducts(q + c, q_stride, last, acc);
  }
  StoreSums(acc, s, stride);
}

// The scores of `keys` keys. Every key is summed in the same order, whatever its neighbours.
// Not inlined, nor MixBlock: the caller's variables would push theirs out of the registers.
template <class T, std::size_t kRows>
HWY_NOINLINE void ScoreBlock(const float* q, std::size_t q_stride, Rows k, std::size_t keys,
                             std::size_t dim, float* s, std::size_t stride, Prefetcher& ahead) {
  constexpr std::size_t kKeys = kRows == 4 ? 2 : 4;
  std::size_t j = 0;
  for (; j + kKeys <= keys; j += kKeys)
    ScoreKeys<T, kRows, kKeys>(q, q_stride, k.from(j), dim, s + j, stride, ahead);
  for (; j < keys; ++j) ScoreKeys<T, kRows, 1>(q, q_stride, k.from(j), dim, s + j, stride, ahead);
}

// acc[r][x] += p_rj * v_j[x]
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void AddValues(const float* p, std::size_t stride, const V (&v)[kVectors],
                          V (&acc)[kRows][kVectors]) {
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    const V pr = hn::Set(D(), p[r * stride]);
    HEED_UNROLL
    for (std::size_t x = 0; x < kVectors; ++x) acc[r][x] = hn::MulAdd(pr, v[x], acc[r][x]);
  }
}

// What is mixed: o_r += sum_j p_rj v_j. o is padded to whole pairs.
struct Mix {
  const float* p = nullptr;  // p_rj = p[r * p_stride + j]
  std::size_t p_stride = 0;
  Rows v;
  std::size_t keys = 0, dim = 0;
  float* o = nullptr;
  std::size_t o_stride = 0;
};

// Columns [c, c + kVectors * kLanes), one key after the other: cutting the keys into blocks changes
// no bit. load(row, x) loads these columns of a value.
template <class T, std::size_t kRows, std::size_t kVectors, class Load>
HWY_INLINE void MixColumns(const Mix& mix, std::size_t c, Load&& load) {
  const D d;
  V acc[kRows][kVectors];
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kVectors; ++x)
      acc[r][x] = hn::LoadU(d, mix.o + r * mix.o_stride + c + x * kLanes);
  }
  const std::byte* row = mix.v.data + c * sizeof(T);
  const float* p = mix.p;
  for (std::size_t j = 0; j < mix.keys; ++j, ++p, row += mix.v.step) {
    V v[kVectors];
    load(reinterpret_cast<const T*>(row), v);
    AddValues(p, mix.p_stride, v, acc);
  }
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kVectors; ++x)
      hn::StoreU(acc[r][x], d, mix.o + r * mix.o_stride + c + x * kLanes);
  }
}

template <class T, std::size_t kRows>
HWY_NOINLINE void MixBlock(const Mix& mix, Prefetcher& ahead) {
  constexpr std::size_t kPairs = 4 / kRows;
  const auto load_pairs = [](const T* row, auto& x) HWY_ATTR {
    constexpr std::size_t kVectors = sizeof(x) / sizeof(x[0]);
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; n += 2) {
      const Pair pair = LoadPair(row + n * kLanes);
      x[n] = pair.a;
      x[n + 1] = pair.b;
    }
  };
  const std::size_t strips = std::max<std::size_t>(1, mix.dim / (kPairs * kPair));
  const std::size_t rows_ahead = (mix.keys + strips - 1) / strips;  // with every strip
  std::size_t c = 0;
  for (; c + kPairs * kPair <= mix.dim; c += kPairs * kPair) {
    ahead.Next(rows_ahead);
    MixColumns<T, kRows, 2 * kPairs>(mix, c, load_pairs);
  }
  ahead.Next(mix.keys);  // whatever is left
  if constexpr (kPairs > 1)
    for (; c + kPair <= mix.dim; c += kPair) MixColumns<T, kRows, 2>(mix, c, load_pairs);
  if (c + kLanes <= mix.dim) {
    MixColumns<T, kRows, 1>(mix, c,
                            [](const T* row, V(&x)[1]) HWY_ATTR { x[0] = LoadAs(D(), row); });
    c += kLanes;
  }
  const std::size_t left = mix.dim - c;
  if (left != 0)
    MixColumns<T, kRows, 1>(
        mix, c, [left](const T* row, V(&x)[1]) HWY_ATTR { x[0] = LoadSome(D(), row, left); });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
