// Loads and stores that convert between what memory holds (f32, f16, bf16, i8) and floats.
// To f16 and bf16 rounding is to nearest, ties to even, as in heed/dtype.h.
#include "heed/dtype.h"
#include "kernels/simd-inl.h"

#if defined(HEED_KERNELS_CONVERT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CONVERT_INL_H
#undef HEED_KERNELS_CONVERT_INL_H
#else
#define HEED_KERNELS_CONVERT_INL_H
#endif

// Whether Highway's own f16 conversions are the hardware's. Its emulation knows neither infinity
// nor rounding, so elsewhere the bits are moved here.
#if HEED_WITH_HIGHWAY && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || \
                          (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64))
#define HEED_HARDWARE_F16 1
#else
#define HEED_HARDWARE_F16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Lanes(df) floats from p, unaligned.
template <class DF>
HWY_INLINE hn::Vec<DF> LoadAs(DF df, const float* p) {
  return hn::LoadU(df, p);
}

template <class DF>
HWY_INLINE hn::Vec<DF> LoadAs(DF df, const bf16* p) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::LoadU(hn::Rebind<std::uint16_t, DF>(), &p->bits);
  return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

template <class DF>
HWY_INLINE hn::Vec<DF> LoadAs(DF df, const f16* p) {
  const auto half = hn::LoadU(hn::Rebind<std::uint16_t, DF>(), &p->bits);
#if HEED_HARDWARE_F16
  return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
#else
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::PromoteTo(du, half);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffu)));
  // The exponent is 112 too small: a multiplication mends it, and makes subnormals normal.
  const auto scaled = hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 0x1p112f));
  // Infinity and NaN, now 2^16 and above, take the largest exponent.
  const auto special = hn::Or(magnitude, hn::Set(du, 0x7f800000u));
  const auto finite = hn::Lt(scaled, hn::Set(df, 0x1p16f));
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(hn::RebindMask(du, finite),
                                                     hn::BitCast(du, scaled), special)));
#endif
}

template <class DF>
HWY_INLINE hn::Vec<DF> LoadAs(DF df, const std::int8_t* p) {
  const hn::RebindToSigned<DF> di;
  const auto bytes = hn::LoadU(hn::Rebind<std::int8_t, DF>(), p);
  return hn::ConvertTo(df, hn::PromoteTo(di, bytes));
}

// Fewer than Lanes(df) elements, the rest 0; reads no more than them.
template <class DF, class T>
HWY_INLINE hn::Vec<DF> LoadSome(DF df, const T* p, std::size_t count) {
  T lanes[hn::MaxLanes(DF())] = {};
  for (std::size_t c = 0; c < count; ++c) lanes[c] = p[c];
  return LoadAs(df, lanes);
}

// A vector, or as much of it as there is, the rest 0.
template <class T>
HWY_INLINE V LoadUpTo(const T* p, std::size_t count) {
  return count >= kLanes ? LoadAs(D(), p) : LoadSome(D(), p, count);
}

HWY_INLINE void StoreAs(V v, float* p) {
  hn::StoreU(v, D(), p);
}

HWY_INLINE void StoreAs(V v, bf16* p) {
  const hn::RebindToUnsigned<D> du;
  const DI di;
  const auto u = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(u, hn::Add(odd, hn::Set(du, 0x7fffu))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(u), hn::Set(du, 0x40u));
  const auto bits = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::DemoteTo(hn::Rebind<std::uint16_t, D>(), hn::BitCast(di, bits)),
             hn::Rebind<std::uint16_t, D>(), &p->bits);
}

HWY_INLINE void StoreAs(V v, f16* p) {
  const hn::Rebind<std::uint16_t, D> d16;
#if HEED_HARDWARE_F16
  hn::StoreU(hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v)), d16, &p->bits);
#else
  float lanes[kLanes];
  hn::StoreU(v, D(), lanes);
  for (std::size_t c = 0; c < kLanes; ++c) p[c] = to_f16(lanes[c]);
  static_cast<void>(d16);
#endif
}

// The first `count` < Lanes lanes.
template <class T>
HWY_INLINE void StoreSome(V v, T* p, std::size_t count) {
  T lanes[kLanes];
  StoreAs(v, lanes);
  for (std::size_t c = 0; c < count; ++c) p[c] = lanes[c];
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#undef HEED_HARDWARE_F16
#endif  // per target
