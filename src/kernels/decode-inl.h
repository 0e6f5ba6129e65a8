// The micro-kernels of decode: a few query rows against keys and values that are read once.
//
// Scores: up to 4 rows x 3 keys, 12 accumulators, summed across lanes at the end of the keys.
// Values: 4 rows x 2 vectors of o, which stay in registers for a block of keys, column strip by
// column strip; of fewer rows 4 keys, whose weights stay in registers while o passes through them.
// This memory traffic is all the time that decode should take. Floats, which ask most of memory,
// are read from several places side by side, where the hardware reads ahead by itself; the others
// in order, asking for rows some way ahead, always in the order of memory.
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

// Of a lambda: for this target, and inlined however large it is, as its registers are the caller's.
#ifndef HEED_INLINED
#if defined(__GNUC__)
#define HEED_INLINED HWY_ATTR __attribute__((always_inline))
#else
#define HEED_INLINED HWY_ATTR
#endif
#endif

// Of a kernel: not inlined, and at the beginning of a cache line, so that what stands before it in
// the program does not change its speed.
#ifndef HEED_KERNEL
#if defined(__GNUC__)
#define HEED_KERNEL HWY_NOINLINE __attribute__((aligned(64)))
#else
#define HEED_KERNEL HWY_NOINLINE
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

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
  // As many rows `ahead` bytes behind these, which need not exist: only to be asked for.
  Rows Ahead(std::ptrdiff_t ahead) const {
    const auto address =
        reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(ahead);
    return {reinterpret_cast<const std::byte*>(address), step};
  }
};

// How far ahead of the work rows are asked for: about what is on its way from memory at any time.
inline constexpr std::size_t kAheadBytes = 3072;
// And how far a line of every few rows: by the time that all are asked for, the processor knows
// where in memory their page is.
inline constexpr std::size_t kFarBytes = 49152;

// Where to ask for rows, in bytes behind those in work: for all of them, and for a line.
struct Asking {
  std::ptrdiff_t ahead = 0, far = 0;  // 0: for none
};

// Rows that are read side by side: number 0 of every run, number 1 of every run, ... Memory gives
// several runs more than one (`heed bench`: reading in 4 places at once).
template <std::size_t kRuns>
struct Piece {
  Rows runs[kRuns];       // all of the same step
  std::size_t count = 0;  // rows of each
  Asking asking[kRuns] = {};
  void AskNoMore() { std::fill_n(asking, kRuns, Asking()); }
};

inline constexpr std::size_t kLine = 64;  // bytes that memory gives at a time

// Asks for `count` rows of `bytes` bytes.
HWY_INLINE void PrefetchRows(Rows rows, std::size_t count, std::size_t bytes) {
  for (std::size_t x = 0; x < count; ++x) {
    const auto row =
        reinterpret_cast<std::uintptr_t>(rows.data) + x * static_cast<std::uintptr_t>(rows.step);
    for (std::uintptr_t n = 0; n < bytes; n += kLine)
      Prefetch(reinterpret_cast<const void*>(row + n));
  }
}
HWY_INLINE void PrefetchAhead(Rows rows, Asking asking, std::size_t count, std::size_t bytes) {
  if (asking.ahead == 0) return;
  PrefetchRows(rows.Ahead(asking.ahead), count, bytes);
  Prefetch(rows.Ahead(asking.far).data);
}
// For number j of every run.
template <std::size_t kRuns>
HWY_INLINE void PrefetchAhead(const Piece<kRuns>& piece, std::size_t j, std::size_t bytes) {
  for (std::size_t x = 0; x < kRuns; ++x)
    PrefetchAhead(piece.runs[x].from(j), piece.asking[x], 1, bytes);
}

// Asks for rows of `bytes` bytes line by line, as the work goes on.
class LinesAhead {
 public:
  // Rows without gaps are one long row. Not to ask is to ask for what is there already.
  LinesAhead(Rows rows, Asking asking, std::size_t bytes)
      : line_(reinterpret_cast<std::uintptr_t>(rows.Ahead(asking.ahead).data)),
        row_(line_),
        step_(asking.ahead == 0 ? 0 : static_cast<std::uintptr_t>(rows.step)),
        bytes_(step_ == bytes ? ~std::uintptr_t{0} : bytes) {}

  HWY_INLINE void Next() {
    Prefetch(reinterpret_cast<const void*>(line_));
    line_ += kLine;
    if (line_ - row_ >= bytes_) line_ = row_ += step_;
  }

 private:
  std::uintptr_t line_, row_, step_, bytes_;
};

// Widens kPair neighbours to two vectors, in the order that is cheapest to load: q and o follow it
// (InPairOrder).
template <class T>
struct Widening {
  HWY_INLINE void Renew() {}
  template <std::size_t kHalf>
  HWY_INLINE V Half(const T* p) const {
    return LoadAs(D(), p + kHalf * kLanes);
  }
};
#if HEED_WITH_HIGHWAY && HWY_TARGET != HWY_SCALAR
// Interleaves with 0, one instruction that loads too; to keep the order costs a shuffle and a
// shift.
template <>
struct Widening<bf16> {
  using D16 = hn::Repartition<std::uint16_t, D>;
  hn::Vec<D16> zero;
  HWY_INLINE Widening() : zero(hn::Zero(D16())) {}
  // Where registers are few: GCC would keep one 0 throughout, at the cost of a sum.
  HWY_INLINE void Renew() {
#if HWY_ARCH_X86 && defined(__GNUC__)
    asm volatile("" : "+v"(zero.raw));
#endif
  }
  template <std::size_t kHalf>
  HWY_INLINE V Half(const bf16* p) const {
    const D16 d16;
    const auto both = hn::LoadU(d16, &p->bits);
    if constexpr (kHalf == 0) return hn::BitCast(D(), hn::InterleaveLower(d16, zero, both));
    return hn::BitCast(D(), hn::InterleaveUpper(d16, zero, both));
  }
};
#endif

// Where element c stands if every second block of four comes first, in each kPair: so instructions
// interleave.
HWY_INLINE std::size_t InBlockOrder(std::size_t c) {
  const std::size_t within = c % kPair, block = within / 4;
  return c - within + (block % 2) * kLanes + block / 2 * 4 + within % 4;
}

// Where Widening puts element c of a row of `dim`.
template <class T>
HWY_INLINE std::size_t InPairOrder(std::size_t c, std::size_t dim) {
  const bool interleaved = std::is_same_v<T, bf16> && kLanes > 1 && c < dim / kPair * kPair;
  return interleaved ? InBlockOrder(c) : c;
}

// Calls f(c, InPairOrder(c)) for every element of a row.
template <class T, class F>
HWY_INLINE void ForPairOrder(std::size_t dim, F&& f) {
  std::size_t c = 0;
  for (; c + kPair <= dim; c += kPair) {
    HEED_UNROLL
    for (std::size_t n = 0; n < kPair; ++n) f(c + n, c + InPairOrder<T>(n, kPair));
  }
  for (; c < dim; ++c) f(c, c);
}

// The four vectors, of floats or integers, summed over their lanes, each in the same order.
#if HEED_WITH_HIGHWAY && HWY_TARGET != HWY_SCALAR
template <class Tag>
using FourOf = hn::Vec<hn::FixedTag<hn::TFromD<Tag>, 4>>;
template <class Tag>
HWY_INLINE FourOf<Tag> SumOfBlocks(Tag, hn::Vec<Tag> v) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return v;
  } else {
    const hn::Half<Tag> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
template <class Tag, class Vector = hn::Vec<Tag>>
HWY_INLINE FourOf<Tag> SumOf4(Tag d, Vector a, Vector b, Vector c, Vector e) {
  const hn::Repartition<double, Tag> d64;
  const Vector ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const Vector ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab64 = hn::BitCast(d64, ab), ce64 = hn::BitCast(d64, ce);
  return SumOfBlocks(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, ab64, ce64)),
                                hn::BitCast(d, hn::InterleaveUpper(d64, ab64, ce64))));
}
using Four = FourOf<D>;
HWY_INLINE void StoreFour(Four v, float* p) {
  hn::StoreU(v, hn::FixedTag<float, 4>(), p);
}
#else
struct Four {
  float x[4];
};
HWY_INLINE Four SumOf4(D, V a, V b, V c, V e) {
  return {{hn::GetLane(a), hn::GetLane(b), hn::GetLane(c), hn::GetLane(e)}};
}
HWY_INLINE void StoreFour(Four v, float* p) {
  for (std::size_t n = 0; n < 4; ++n) p[n] = v.x[n];
}
#endif

// s[r * stride + x] <- the sum over the lanes of acc[r][x]. With 3 keys a fourth is overwritten.
template <std::size_t kRows, std::size_t kKeys>
HWY_INLINE void StoreSums(const V (&acc)[kRows][kKeys], float* s, std::size_t stride) {
  const D d;
  if constexpr (kKeys > 1) {
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      StoreFour(SumOf4(d, acc[r][0], acc[r][1], acc[r][2], acc[r][kKeys - 1]), s + r * stride);
  } else {
    float sums[4];
    StoreFour(SumOf4(d, acc[0][0], acc[1 % kRows][0], acc[2 % kRows][0], acc[3 % kRows][0]), sums);
    for (std::size_t r = 0; r < kRows; ++r) s[r * stride] = sums[r];
  }
}

// Keeps v in a register: GCC would load it again for every use, and loads would be the limit. Of
// integers it would also add up products in an order of its own, with more sums than registers.
template <class Vector>
HWY_INLINE void InRegister(Vector& v) {
#if HEED_WITH_HIGHWAY && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && defined(__GNUC__)
  asm("" : "+v"(v.raw));
#else
  static_cast<void>(v);
#endif
}

// Or an address, which GCC would replace by as many multiples of a step as there are rows.
HWY_INLINE void InRegister(const std::byte*& address) {
#if defined(__GNUC__)
  asm("" : "+r"(address));
#else
  static_cast<void>(address);
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

// Calls f(half, c) for both halves of every whole pair of a row; returns where the rest begins.
// Where several keys are taken at a time, eight pairs follow each other without a branch (or four,
// in shorter rows): of rows of 128 floats this makes 97 % of the bandwidth out of 83 %.
template <std::size_t kKeys, class F>
HWY_INLINE std::size_t ForPairs(std::size_t dim, F&& f) {
  std::size_t c = 0;
  const auto pair = [&](std::size_t at) HEED_INLINED {
    f(std::integral_constant<std::size_t, 0>(), at);
    f(std::integral_constant<std::size_t, 1>(), at);
  };
  if constexpr (kKeys > 1) {
    for (; c + 8 * kPair <= dim; c += 8 * kPair) {
      HEED_UNROLL
      for (std::size_t n = 0; n < 8; ++n) pair(c + n * kPair);
    }
    for (; c + 4 * kPair <= dim; c += 4 * kPair) {
      HEED_UNROLL
      for (std::size_t n = 0; n < 4; ++n) pair(c + n * kPair);
    }
  }
  for (; c + kPair <= dim; c += kPair) pair(c);
  return c;
}

// The rows of kKeys keys or values.
template <class T, std::size_t kKeys>
struct KeyRows {
  const T* row[kKeys];
  // Neighbours.
  HWY_INLINE explicit KeyRows(Rows rows) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) row[x] = rows.row<T>(x);
  }
  // Number j of every run.
  HWY_INLINE KeyRows(const Piece<kKeys>& piece, std::size_t j) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) row[x] = piece.runs[x].template row<T>(j);
  }
  template <std::size_t kHalf>
  HWY_INLINE void Load(std::size_t c, V (&to)[kKeys]) const {
    Widening<T> widening;
    widening.Renew();
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) {
      to[x] = widening.template Half<kHalf>(row[x] + c);
      InRegister(to[x]);
    }
  }
  // `count` columns, at most a vector of them.
  HWY_INLINE void LoadRest(std::size_t c, std::size_t count, V (&to)[kKeys]) const {
    for (std::size_t x = 0; x < kKeys; ++x)
      to[x] = count == kLanes ? LoadAs(D(), row[x] + c) : LoadSome(D(), row[x] + c, count);
  }
};

// acc[r][x] <- q_r . k_x, lane by lane, for kRows rows of q [q_stride apart, padded with 0].
template <class T, std::size_t kRows, std::size_t kKeys>
HWY_INLINE void ScoreKeys(const float* HWY_RESTRICT q, std::size_t q_stride,
                          const KeyRows<T, kKeys>& keys, std::size_t dim, V (&acc)[kRows][kKeys]) {
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) acc[r][x] = hn::Zero(D());
  }
  std::size_t c = ForPairs<kKeys>(dim, [&](auto half, std::size_t at) HEED_INLINED {
    V kx[kKeys];
    keys.template Load<half>(at, kx);
    AddProducts(q + at + half * kLanes, q_stride, kx, acc);
  });
  for (; c < dim; c += kLanes) {
    V kx[kKeys];
    keys.LoadRest(c, std::min(kLanes, dim - c), kx);
    AddProducts(q + c, q_stride, kx, acc);
  }
}

// s[r * stride + x] <- q_r . k_x for neighbouring keys.
template <class T, std::size_t kRows, std::size_t kKeys>
HWY_INLINE void ScoreNeighbours(const float* q, std::size_t q_stride, Rows k, std::size_t dim,
                                float* s, std::size_t stride) {
  V acc[kRows][kKeys];
  ScoreKeys(q, q_stride, KeyRows<T, kKeys>(k), dim, acc);
  StoreSums(acc, s, stride);
}

// Keys that kRows rows take at a time.
template <std::size_t kRows>
inline constexpr std::size_t kKeysAtOnce = kRows == 4 ? 3 : 4;

// The scores of `keys` keys. Every key is summed in the same order, whatever its neighbours; s has
// room for one more. Not inlined, nor MixBlock: the caller's variables would push theirs out of the
// registers.
template <class T, std::size_t kRows>
HEED_KERNEL void ScoreBlock(const float* q, std::size_t q_stride, Rows k, std::size_t keys,
                            std::size_t dim, float* s, std::size_t stride, Asking asking) {
  constexpr std::size_t kKeys = kKeysAtOnce<kRows>;
  std::size_t j = 0;
  for (; j + kKeys <= keys; j += kKeys) {
    PrefetchAhead(k.from(j), asking, kKeys, dim * sizeof(T));
    ScoreNeighbours<T, kRows, kKeys>(q, q_stride, k.from(j), dim, s + j, stride);
  }
  PrefetchAhead(k.from(j), asking, keys - j, dim * sizeof(T));
  for (; j < keys; ++j) ScoreNeighbours<T, kRows, 1>(q, q_stride, k.from(j), dim, s + j, stride);
}

// The same for runs of keys: the score of number j of run x goes to s[r * stride + x * apart + j].
template <class T, std::size_t kRows, std::size_t kRuns>
HEED_KERNEL void ScoreRuns(const float* q, std::size_t q_stride, const Piece<kRuns>& piece,
                           std::size_t dim, float* s, std::size_t stride, std::size_t apart) {
  for (std::size_t j = 0; j < piece.count; ++j) {
    PrefetchAhead(piece, j, dim * sizeof(T));
    V acc[kRows][kRuns];
    ScoreKeys(q, q_stride, KeyRows<T, kRuns>(piece, j), dim, acc);
    float sums[kRows][4];
    StoreSums(acc, sums[0], 4);
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t x = 0; x < kRuns; ++x) s[r * stride + x * apart + j] = sums[r][x];
  }
}

// What is mixed: o_r += sum_j p_rj v_j. o is padded to whole pairs.
template <class Weight, class Sum>
struct Mixture {
  const Weight* p = nullptr;  // p_rj = p[r * p_stride + j]
  std::size_t p_stride = 0;
  Rows v;
  std::size_t keys = 0, dim = 0;
  Sum* o = nullptr;
  std::size_t o_stride = 0;

  HWY_INLINE Mixture FromRow(std::size_t r) const {
    Mixture mix = *this;
    mix.p += r * p_stride;
    mix.o += r * o_stride;
    return mix;
  }
  HWY_INLINE Mixture FromKey(std::size_t j, std::size_t count) const {
    Mixture mix = *this;
    mix.p += j;
    mix.v = v.from(j);
    mix.keys = count;
    return mix;
  }
};
using Mix = Mixture<float, float>;

// kKeys values, one after the other: cutting the keys into blocks changes no bit. The weight of
// number x is p[r * p_stride + j + x * apart].
template <class T, std::size_t kRows, std::size_t kKeys>
HWY_INLINE void MixKeys(const Mix& mix, const KeyRows<T, kKeys>& values, std::size_t j,
                        std::size_t apart) {
  const D d;
  V p[kRows][kKeys];
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    HEED_UNROLL
    for (std::size_t x = 0; x < kKeys; ++x) {
      p[r][x] = hn::Set(d, mix.p[r * mix.p_stride + j + x * apart]);
      InRegister(p[r][x]);
    }
  }
  float* HWY_RESTRICT o = mix.o;
  const std::size_t o_stride = mix.o_stride;
  const auto add = [&](std::size_t c, const V(&v)[kKeys]) HEED_INLINED {
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      V sum = hn::LoadU(d, o + r * o_stride + c);
      HEED_UNROLL
      for (std::size_t x = 0; x < kKeys; ++x) sum = hn::MulAdd(p[r][x], v[x], sum);
      hn::StoreU(sum, d, o + r * o_stride + c);
    }
  };
  std::size_t c = ForPairs<kKeys>(mix.dim, [&](auto half, std::size_t at) HEED_INLINED {
    V v[kKeys];
    values.template Load<half>(at, v);
    add(at + half * kLanes, v);
  });
  for (; c < mix.dim; c += kLanes) {
    V v[kKeys];
    values.LoadRest(c, std::min(kLanes, mix.dim - c), v);
    add(c, v);
  }
}

// sum[r] += p_rj v_j for kKeys keys and a pair of vectors of each; v is where they begin. Asks for
// as many bytes as it reads, but for those of a single key.
template <class T, std::size_t kKeys, std::size_t kRows>
HWY_INLINE void MixPair(const float* HWY_RESTRICT p, std::size_t p_stride, Rows v,
                        V (&sum)[kRows][2], LinesAhead& ahead) {
  constexpr std::size_t kBytes = kPair * sizeof(T);
  const Widening<T> widening;
  HEED_UNROLL
  for (std::size_t x = 0; x < kKeys; ++x) {
    if (x > 0) {
      v = v.from(1);
      InRegister(v.data);
    }
    if (kKeys > 1 && x * kBytes % kLine == 0) {
      for (std::size_t n = 0; n < kBytes; n += kLine) ahead.Next();
    }
    const V first = widening.template Half<0>(v.row<T>(0));
    const V second = widening.template Half<1>(v.row<T>(0));
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const V weight = hn::Set(D(), p[r * p_stride + x]);
      sum[r][0] = hn::MulAdd(weight, first, sum[r][0]);
      sum[r][1] = hn::MulAdd(weight, second, sum[r][1]);
    }
  }
}

// Keys that a strip takes without a branch.
inline constexpr std::size_t kStripKeys = 12;

// Keys of a block, whose values the first-level cache keeps beside those of the next: 24 or more,
// unless they are too long.
template <class T>
HWY_INLINE std::size_t BlockKeys(std::size_t dim) {
  constexpr std::size_t kBytes = 6144;
  const std::size_t bytes = kStripKeys * dim * sizeof(T);
  return bytes > kBytes ? kStripKeys : kStripKeys * std::max<std::size_t>(2, kBytes / bytes);
}

// The columns [c, c + kPair).
template <class T, std::size_t kRows>
HWY_INLINE void MixStrip(const Mix& mix, std::size_t c, LinesAhead& ahead) {
  const D d;
  V sum[kRows][2];
  float* HWY_RESTRICT o = mix.o + c;
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    sum[r][0] = hn::LoadU(d, o + r * mix.o_stride);
    sum[r][1] = hn::LoadU(d, o + r * mix.o_stride + kLanes);
  }
  const Rows v{mix.v.data + c * sizeof(T), mix.v.step};
  std::size_t j = 0;
  for (; j + kStripKeys <= mix.keys; j += kStripKeys)
    MixPair<T, kStripKeys>(mix.p + j, mix.p_stride, v.from(j), sum, ahead);
  for (; j < mix.keys; ++j) MixPair<T, 1>(mix.p + j, mix.p_stride, v.from(j), sum, ahead);
  HEED_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    hn::StoreU(sum[r][0], d, o + r * mix.o_stride);
    hn::StoreU(sum[r][1], d, o + r * mix.o_stride + kLanes);
  }
}

// The columns from c on, fewer than kPair.
template <class T, std::size_t kRows>
HWY_INLINE void MixRest(const Mix& mix, std::size_t c) {
  const D d;
  for (; c < mix.dim; c += kLanes) {
    for (std::size_t j = 0; j < mix.keys; ++j) {
      const V v = LoadUpTo(mix.v.row<T>(j) + c, mix.dim - c);
      for (std::size_t r = 0; r < kRows; ++r) {
        float* o = mix.o + r * mix.o_stride + c;
        hn::StoreU(hn::MulAdd(hn::Set(d, mix.p[r * mix.p_stride + j]), v, hn::LoadU(d, o)), d, o);
      }
    }
  }
}

// Adds a block of values to kRows rows, in strips of columns; `asking` is for the next block.
template <class T, std::size_t kRows>
HWY_INLINE void MixColumns(const Mix& mix, Asking asking) {
  LinesAhead ahead(mix.v, asking, mix.dim * sizeof(T));
  const std::ptrdiff_t bytes_a_strip = mix.v.step * static_cast<std::ptrdiff_t>(kPair * mix.keys) /
                                       static_cast<std::ptrdiff_t>(mix.dim);
  std::size_t c = 0;
  for (; c + kPair <= mix.dim; c += kPair, asking.far += bytes_a_strip) {
    Prefetch(mix.v.Ahead(asking.far).data);
    MixStrip<T, kRows>(mix, c, ahead);
  }
  MixRest<T, kRows>(mix, c);
}

// Adds values to kRows rows: to four in strips of columns, to fewer row by row.
template <class T, std::size_t kRows>
HEED_KERNEL void MixBlock(const Mix& mix, Asking asking) {
  if constexpr (kRows == 4) {
    const std::size_t block = BlockKeys<T>(mix.dim);
    for (std::size_t j = 0; j < mix.keys; j += block)
      MixColumns<T, kRows>(mix.FromKey(j, std::min(block, mix.keys - j)), asking);
  } else {
    constexpr std::size_t kKeys = kKeysAtOnce<kRows>;
    const std::size_t bytes = mix.dim * sizeof(T);
    std::size_t j = 0;
    for (; j + kKeys <= mix.keys; j += kKeys) {
      PrefetchAhead(mix.v.from(j), asking, kKeys, bytes);
      MixKeys<T, kRows, kKeys>(mix, KeyRows<T, kKeys>(mix.v.from(j)), j, 1);
    }
    PrefetchAhead(mix.v.from(j), asking, mix.keys - j, bytes);
    for (; j < mix.keys; ++j) MixKeys<T, kRows, 1>(mix, KeyRows<T, 1>(mix.v.from(j)), j, 1);
  }
}

// The same for runs of values, of which number j of run x has the weight p[r * p_stride +
// x * apart + j]. Four rows are two passes: their o and four values at a time stay in the
// first-level cache.
template <class T, std::size_t kRows>
HEED_KERNEL void MixRuns(const Mix& mix, const Piece<4>& piece, std::size_t apart) {
  constexpr std::size_t kPass = std::min<std::size_t>(kRows, 2);
  for (std::size_t j = 0; j < piece.count; ++j) {
    PrefetchAhead(piece, j, mix.dim * sizeof(T));
    const KeyRows<T, 4> values(piece, j);
    HEED_UNROLL
    for (std::size_t r = 0; r < kRows; r += kPass)
      MixKeys<T, kPass, 4>(mix.FromRow(r), values, j, apart);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
