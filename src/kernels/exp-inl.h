// exp2 and tanh on vectors of floats: the only transcendental functions of the kernels. Softmax
// works in base 2 (log2(e) is folded into the scale), so no exp is needed.
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

// 2^(x - m) for a fixed integer m, |m| <= 2^21, and x - m < 128; within 2 ulp, exactly 1 at x = m,
// NaN stays NaN. Results below the smallest normal number are 0, so -infinity gives exactly 0.
// Subtracting m costs nothing: it is part of the constants.
struct Exp2Minus {
  V low, magic;

  explicit HWY_INLINE Exp2Minus(float m)
      // Adding 1.5 * 2^23 rounds x to an integer n, left in the low bits of the sum; 127 - m more
      // makes them the exponent field of 2^(n - m).
      : low(hn::Set(D(), m - 127.0f)), magic(hn::Set(D(), 0x1.8p23f + 127.0f - m)) {}

  HWY_INLINE V operator()(V x) const {
    const D d;
    const DI di;
    x = AtLeast(x, low);  // n - m = -127 has exponent field 0, so that the power becomes 0
    const V shifted = hn::Add(x, magic);
    const V f = hn::Sub(x, hn::Sub(shifted, magic));  // in [-1/2, 1/2], exact
    // Minimax for the relative error of 2^f on [-1/2, 1/2] with constant term 1: 0.78 ulp, the rest
    // of the 2 is rounding. One degree more gives 0.9 ulp in all.
    V p = hn::Set(d, 0x1.5bda4p-10f);
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.3ce8acp-7f));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.c6b6d8p-5f));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebf9c2p-3f));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e42ap-1f));
    p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
    return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
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
