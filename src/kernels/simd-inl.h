// The vector vocabulary of the kernels: Highway, or the scalar stand-in of a build without it.
//
// Kernels say hn::Add, hn::MulAdd, ... on vectors V of floats with tag D. What differs between
// Highway's versions or its targets is settled here and nowhere else.
#include "kernels/foreach_target.h"
#include "kernels/targets.h"
#if HEED_WITH_HIGHWAY
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#else
#include "kernels/scalar.h"
#endif

#ifndef HEED_KERNELS_SIMD_ONCE
#define HEED_KERNELS_SIMD_ONCE
#include <cstddef>
#include <cstdint>

// GCC keeps arrays of accumulators in registers only if the loops over them are unrolled early.
#if defined(__clang__)
#define HEED_UNROLL _Pragma("clang loop unroll(full)")
#define HEED_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#define HEED_UNROLL _Pragma("GCC unroll 16")
#define HEED_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define HEED_UNROLL
#define HEED_UNROLL_4
#endif

// The function F, exported by HWY_EXPORT(F), as compiled for a target.
#if HEED_WITH_HIGHWAY && (HWY_TARGETS & (HWY_TARGETS - 1)) != 0
namespace heed::kernels {
inline std::size_t table_index(Target target) {
  hwy::ChosenTarget chosen;  // a local one: the process-wide choice stays untouched
  chosen.Update(target.bit);
  return chosen.GetIndex();
}
}  // namespace heed::kernels
#define HEED_FUNCTION(F, target) HWY_DISPATCH_TABLE(F)[::heed::kernels::table_index(target)]
#else
#define HEED_FUNCTION(F, target) HWY_DISPATCH_TABLE(F)[(static_cast<void>(target), 0)]
#endif
#endif  // HEED_KERNELS_SIMD_ONCE

#if defined(HEED_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_SIMD_INL_H
#undef HEED_KERNELS_SIMD_INL_H
#else
#define HEED_KERNELS_SIMD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

#if HEED_WITH_HIGHWAY
namespace hn = hwy::HWY_NAMESPACE;
#else
namespace hn = heed::scalar;
#endif

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
inline constexpr std::size_t kLanes = hn::MaxLanes(D());

// Registers decide the micro-kernel: rows x (vectors x lanes) accumulators, plus one row of
// vectors and one broadcast. 16 registers: 6 x 2; 32 registers: 12 x 2.
#if HEED_WITH_HIGHWAY && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON)
inline constexpr std::size_t kStripRows = 12;
#else
inline constexpr std::size_t kStripRows = 6;
#endif
inline constexpr std::size_t kPanelVectors = 2;
inline constexpr std::size_t kPanel = kPanelVectors * kLanes;

#undef HEED_PAIR_PRODUCTS
// Whether one instruction multiplies 16-bit integers and adds the products of neighbours, so that
// sums of integers take half the multiplications of floats.
#if HEED_WITH_HIGHWAY && ((HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR) || HWY_TARGET == HWY_WASM)
#define HEED_PAIR_PRODUCTS 1
using DI16 = hn::Repartition<std::int16_t, D>;
using VI = hn::Vec<DI>;
using VI16 = hn::Vec<DI16>;

// sum[n] + a[2n] b[2n] + a[2n + 1] b[2n + 1]. Highway leaves open where products go, but not on
// these targets.
HWY_INLINE VI AddPairProducts(VI16 a, VI16 b, VI sum) {
  VI unused = hn::Zero(DI());
  return hn::ReorderWidenMulAccumulate(DI(), a, b, sum, unused);
}
#else
#define HEED_PAIR_PRODUCTS 0
#endif

HWY_INLINE float SumLanes(V v) {
#if HEED_WITH_HIGHWAY && (HWY_MAJOR > 1 || HWY_MINOR >= 1)
  return hn::ReduceSum(D(), v);
#else
  return hn::GetLane(hn::SumOfLanes(D(), v));
#endif
}

HWY_INLINE float MaxLanes(V v) {
#if HEED_WITH_HIGHWAY && (HWY_MAJOR > 1 || HWY_MINOR >= 1)
  return hn::ReduceMax(D(), v);
#else
  return hn::GetLane(hn::MaxOfLanes(D(), v));
#endif
}

// max(x, low), but NaN stays NaN on every target.
HWY_INLINE V AtLeast(V x, V low) {
#if HEED_WITH_HIGHWAY && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(low, x);  // maxps returns its second operand if either is NaN
#else
  return hn::IfThenElse(hn::Lt(x, low), low, x);
#endif
}

// min(x, high), but NaN stays NaN on every target.
HWY_INLINE V AtMost(V x, V high) {
#if HEED_WITH_HIGHWAY && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(high, x);
#else
  return hn::IfThenElse(hn::Gt(x, high), high, x);
#endif
}

HWY_INLINE void Prefetch(const void* p) {
#if HEED_WITH_HIGHWAY
  hwy::Prefetch(static_cast<const char*>(p));
#else
  static_cast<void>(p);
#endif
}

// To the second-level cache only.
HWY_INLINE void PrefetchFar(const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p, 0, 2);
#else
  Prefetch(p);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
