// exp2 and tanh on vectors of floats: the only transcendental functions of the kernels. Softmax
// works in base 2 (log2(e) is folded into the scale), so no exp is needed.
#include <cstddef>
#include <iterator>

#include "kernels/simd-inl.h"

#if defined(HEED_KERNELS_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_EXP_INL_H
#undef HEED_KERNELS_EXP_INL_H
#else
#define HEED_KERNELS_EXP_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// 2^f on [-1/2, 1/2]: minimax for the relative error with constant term 1, highest power first.
#if HEED_WITH_HIGHWAY && HWY_NATIVE_FMA
// Errs by 0.78 ulp; the rest of the 2 is rounding. One degree more gives 0.9 ulp in all.
inline constexpr float kExp2[] = {0x1.5bda4p-10f, 0x1.3ce8acp-7f, 0x1.c6b6d8p-5f,
                                  0x1.ebf9c2p-3f, 0x1.62e42ap-1f, 1.0f};
#else
// Products are rounded too, so that the polynomial has to leave more to rounding.
inline constexpr float kExp2[] = {0x1.416b56p-13f, 0x1.5f082ep-10f, 0x1.3b2dep-7f, 0x1.c6af7cp-5f,
                                  0x1.ebfbdcp-3f,  0x1.62e43p-1f,   1.0f};
#endif

// 2^(x - m) for a fixed integer m, |m| <= 2^21, and x - m < 128; within 2 ulp, exactly 1 at x = m,
// NaN stays NaN. Below x - m = -126.5 the result is 0, so -infinity gives exactly 0.
// Subtracting m costs nothing: it is part of the constants.
struct Exp2Minus {
  V low, magic;

  explicit HWY_INLINE Exp2Minus(float m)
      // Adding 1.5 * 2^23 rounds x to an integer n, left in the low bits of the sum; 127 - m more
      // makes them the exponent field of 2^(n - m).
      : low(hn::Set(D(), m - 127.0f)), magic(hn::Set(D(), 0x1.8p23f + 127.0f - m)) {}

  HWY_INLINE V operator()(V x) const {
    V one[1] = {x};
    Apply(one);
    return one[0];
  }

  // x[n] <- the power; step by step for all of them, as each has to wait for its last step.
  template <std::size_t N>
  HWY_INLINE void Apply(V (&x)[N]) const {
    const D d;
    const DI di;
    V shifted[N], p[N];
    HEED_UNROLL
    for (std::size_t n = 0; n < N; ++n) {
      x[n] = AtLeast(x[n], low);  // n - m = -127 has exponent field 0: the power becomes 0
      shifted[n] = hn::Add(x[n], magic);
    }
    HEED_UNROLL
    for (std::size_t n = 0; n < N; ++n)
      x[n] = hn::Sub(x[n], hn::Sub(shifted[n], magic));  // in [-1/2, 1/2], exact
    HEED_UNROLL
    for (std::size_t n = 0; n < N; ++n) p[n] = hn::Set(d, kExp2[0]);
    for (std::size_t k = 1; k < std::size(kExp2); ++k) {
      HEED_UNROLL
      for (std::size_t n = 0; n < N; ++n) p[n] = hn::MulAdd(p[n], x[n], hn::Set(d, kExp2[k]));
    }
    HEED_UNROLL
    for (std::size_t n = 0; n < N; ++n)
      x[n] = hn::Mul(p[n], hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted[n]))));
  }
};

// 2^x for x < 128, likewise.
HWY_INLINE V Exp2(V x) {
  return Exp2Minus(0.0f)(x);
}

// tanh(x) within 4 ulp; NaN stays NaN.
HWY_INLINE V Tanh(V x) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  const V a = hn::Abs(x);
  // Away from 0: (1 - e) / (1 + e) with e = exp(-2 |x|).
  const V e = Exp2(hn::Mul(a, hn::Set(d, -2.88539008177792681f)));
  const V far = hn::Div(hn::Sub(one, e), hn::Add(one, e));
  // Near 0, where 1 - e cancels: x + x^3 P(x^2), minimax for |x| <= 0.625.
  const V t = hn::Mul(x, x);
  V p = hn::Set(d, -0x1.750ce4p-8f);
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.51f8cep-6f));
  p = hn::MulAdd(p, t, hn::Set(d, -0x1.b835a4p-5f));
  p = hn::MulAdd(p, t, hn::Set(d, 0x1.1106f6p-3f));
  p = hn::MulAdd(p, t, hn::Set(d, -0x1.555532p-2f));
  const V near = hn::MulAdd(hn::Mul(p, t), x, x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), near, hn::CopySign(far, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
