#include "reference/math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "reference/double_double.h"

namespace heed::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// log(2): the upper part has 40 bits, so that its product with an exponent is exact.
constexpr double kLog2Hi = 0x1.62e42fefa2p-1, kLog2Lo = 0x1.9ef35793c7673p-41;

// 2^k for -1022 <= k <= 1023.
double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// k * log(2), for |k| < 2^13.
DoubleDouble times_log2(double k) {
  const DoubleDouble lo = two_product(k, kLog2Lo);
  return DoubleDouble{k * kLog2Hi, 0} + lo;
}

// exp(r) - 1 for |r| <= 0.35, to a relative 2^-64:
//   r * (1 + r/2 * (1 + r/3 * (1 + ...)))
// From the sixth term on plain doubles do: r^5 / 6! is below 2^-17 there.
DoubleDouble expm1_near_zero(DoubleDouble r) {
  double tail = 1;
  for (int n = 18; n > 6; --n) tail = 1 + r.hi * tail / n;
  DoubleDouble sum{tail, 0};
  for (int n = 6; n > 1; --n)
    sum = DoubleDouble{1, 0} + r * sum / DoubleDouble{static_cast<double>(n), 0};
  return r * sum;
}

// x = k * log(2) + r with |r| <= 0.35, and exp(r) - 1.
struct Reduced {
  int k = 0;
  DoubleDouble expm1;
};

// |x| < 1500.
Reduced reduce(double x) {
  const double turns = x * 1.4426950408889634;  // x / log(2)
  const int k = static_cast<int>(turns + (turns < 0 ? -0.5 : 0.5));
  const DoubleDouble r = DoubleDouble{x, 0} + times_log2(-k);
  return {k, expm1_near_zero(r)};
}

// value * 2^k, rounded once, for 1 <= value < 2 and k < -1022: rounding at the bit 2^-1074 of a
// subnormal result happens in the sum with a number whose last bit stands there.
double scale_to_subnormal(DoubleDouble value, int k) {
  const double big = power_of_two(-1022 - k);
  const DoubleDouble sum = two_sum(big, value.hi);
  const double rounded = sum.hi + (sum.lo + value.lo);
  return (rounded - big) * power_of_two(k + 100) * power_of_two(-100);
}

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  auto [k, expm1] = reduce(x);
  DoubleDouble value = DoubleDouble{1, 0} + expm1;
  if (value.hi < 1) {
    value = {2 * value.hi, 2 * value.lo};
    --k;
  }
  if (k > 1023) return kInfinity;
  return k < -1022 ? scale_to_subnormal(value, k) : value.hi * power_of_two(k);
}

// log(m 2^e) = e log(2) + 2 atanh(s), s = (m - 1) / (m + 1), with m between sqrt(1/2) and sqrt(2):
//   2 atanh(s) = 2 s * (1 + s^2/3 + s^4/5 + ...)
// From s^6 on plain doubles do: s^6 / 7 is below 2^-18.
double log(double x) {
  if (x != x || x == kInfinity) return x;
  if (x == 0) return -kInfinity;
  if (x < 0) return kNaN;
  int e = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    e = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  e += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++e;
  }
  const DoubleDouble s = DoubleDouble{m - 1, 0} / two_sum(m, 1);
  const DoubleDouble s2 = s * s;
  double tail = 0;
  for (int n = 27; n > 5; n -= 2) tail = 1.0 / n + s2.hi * tail;
  DoubleDouble sum{tail, 0};
  for (int n = 5; n > 0; n -= 2)
    sum = DoubleDouble{1, 0} / DoubleDouble{static_cast<double>(n), 0} + s2 * sum;
  const DoubleDouble atanh = s * sum;
  return (times_log2(e) + DoubleDouble{2 * atanh.hi, 2 * atanh.lo}).hi;
}

// tanh(x) = u / (u + 2) with u = exp(2 |x|) - 1.
double tanh(double x) {
  const double a = x < 0 ? -x : x;
  if (x != x || a < 0x1p-30) return x;  // x - x^3/3 is x to within 0.003 ulp
  if (a > 22) return x < 0 ? -1 : 1;    // 1 - 2 exp(-44)
  const auto [k, expm1] = reduce(2 * a);
  const double power = power_of_two(k);
  const DoubleDouble u =
      DoubleDouble{power * expm1.hi, power * expm1.lo} + DoubleDouble{power - 1, 0};
  const double result = (u / (u + DoubleDouble{2, 0})).hi;
  return x < 0 ? -result : result;
}

}  // namespace heed::reference
