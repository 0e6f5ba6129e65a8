// Numbers of about 106 bits as an unevaluated sum of two doubles: what exp, log and tanh need to
// round correctly almost always. Plain double operations in a fixed order, so every platform gives
// the same bits. For operands of moderate size: nothing here minds overflow or underflow.
#pragma once

#include <cfloat>

namespace heed::reference {

static_assert(FLT_EVAL_METHOD == 0, "double must be rounded to double after every operation");

// The number hi + lo, with |lo| <= half an ulp of hi.
struct DoubleDouble {
  double hi = 0, lo = 0;
};

// a + b exactly, for |a| >= |b|.
inline DoubleDouble quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// a + b exactly.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b, b_seen = sum - a;
  return {sum, (a - (sum - b_seen)) + (b - b_seen)};
}

// The upper 26 bits of a.
inline double upper_half(double a) {
  const double t = 134217729.0 * a;  // 2^27 + 1
  return t - (t - a);
}

// a * b exactly (Dekker): without fma, which is a slow library call where hardware has none.
inline DoubleDouble two_product(double a, double b) {
  const double product = a * b;
  const double a_hi = upper_half(a), a_lo = a - a_hi, b_hi = upper_half(b), b_lo = b - b_hi;
  return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble hi = two_sum(a.hi, b.hi), lo = two_sum(a.lo, b.lo);
  const DoubleDouble sum = quick_two_sum(hi.hi, hi.lo + lo.hi);
  return quick_two_sum(sum.hi, sum.lo + lo.lo);
}

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.hi, b.hi);
  return quick_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

// One step of long division: the quotient of the leading parts, then that of the remainder.
inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double quotient = a.hi / b.hi;
  const DoubleDouble back = two_product(quotient, b.hi);
  const double remainder = ((a.hi - back.hi) - back.lo) + (a.lo - quotient * b.lo);
  return quick_two_sum(quotient, remainder / b.hi);
}

}  // namespace heed::reference
