#include "reference/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace heed::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// |got - truth| in units of the last place of truth.
double error_in_ulps(double got, long double truth) {
  const double rounded = static_cast<double>(truth);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : kInf;
  const int exponent = std::max(std::ilogb(truth), -1022);
  return static_cast<double>(std::abs(got - truth) / std::ldexp(1.0L, exponent - 52));
}

struct Worst {
  double error = 0, at = 0;
  void see(double x, double got, long double truth) {
    const double e = truth == 0 ? (got == 0 ? 0 : kInf) : error_in_ulps(got, truth);
    if (e > error) *this = {e, x};
  }
};

// Dense over the range where the function is interesting, then random, then every magnitude.
template <class F>
void for_points(double from, double to, bool negative, F&& f) {
  constexpr int kSteps = 200000;
  for (int n = 0; n <= kSteps; ++n) f(from + (to - from) * n / kSteps);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(from, to);
  for (int n = 0; n < kSteps; ++n) f(uniform(random));
  for (int n = 0; n < kSteps; ++n) {
    const double x = std::bit_cast<double>(random() & 0x7fffffffffffffffu);
    if (!std::isfinite(x)) continue;
    f(x);
    if (negative) f(-x);
  }
}

// The bound needs a truth with bits to spare: 64-bit (x87) or 113-bit long double.
class Math : public ::testing::Test {
  void SetUp() override {
    if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no wider than double here";
  }
};

constexpr double kBound = 0.51;

TEST_F(Math, ExpIsWithinItsBound) {
  Worst worst;
  for_points(-746, 710, true,
             [&](double x) { worst.see(x, exp(x), std::exp(static_cast<long double>(x))); });
  for_points(-0.5, 0.5, true,
             [&](double x) { worst.see(x, exp(x), std::exp(static_cast<long double>(x))); });
  for_points(-745.2, -708, true,  // the subnormal results
             [&](double x) { worst.see(x, exp(x), std::exp(static_cast<long double>(x))); });
  EXPECT_LE(worst.error, kBound) << "at " << worst.at;
}

TEST_F(Math, LogIsWithinItsBound) {
  Worst worst;
  const auto see = [&](double x) { worst.see(x, log(x), std::log(static_cast<long double>(x))); };
  for_points(0.5, 2, false, see);
  for_points(1e-3, 1e5, false, see);
  for_points(0, std::numeric_limits<double>::min(), false, see);
  for (int n = -1000; n <= 1000; ++n) see(1 + n * DBL_EPSILON);
  EXPECT_LE(worst.error, kBound) << "at " << worst.at;
}

TEST_F(Math, TanhIsWithinItsBound) {
  Worst worst;
  const auto see = [&](double x) { worst.see(x, tanh(x), std::tanh(static_cast<long double>(x))); };
  for_points(-23, 23, true, see);
  for_points(-0.6, 0.6, true, see);
  EXPECT_LE(worst.error, kBound) << "at " << worst.at;
}

TEST(MathEnds, SpecialValues) {
  EXPECT_EQ(exp(kInf), kInf);
  EXPECT_EQ(exp(-kInf), 0);
  EXPECT_TRUE(std::isnan(exp(kNan)));
  EXPECT_EQ(exp(0.0), 1);
  EXPECT_EQ(exp(709.782712893384), 0x1.fffffffffff2ap1023);
  EXPECT_EQ(exp(709.782712893385), kInf);
  EXPECT_EQ(exp(-745.1332191019411), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(exp(-745.1332191019412), 0);

  EXPECT_EQ(log(1.0), 0);
  EXPECT_EQ(log(0.0), -kInf);
  EXPECT_EQ(log(-0.0), -kInf);
  EXPECT_EQ(log(kInf), kInf);
  EXPECT_TRUE(std::isnan(log(-1.0)));
  EXPECT_TRUE(std::isnan(log(-kInf)));
  EXPECT_TRUE(std::isnan(log(kNan)));

  EXPECT_EQ(tanh(kInf), 1);
  EXPECT_EQ(tanh(-kInf), -1);
  EXPECT_TRUE(std::isnan(tanh(kNan)));
  EXPECT_TRUE(std::signbit(tanh(-0.0)));
  EXPECT_EQ(tanh(std::numeric_limits<double>::denorm_min()),
            std::numeric_limits<double>::denorm_min());
}

// A digest (FNV-1a) of the bits of f at points of every magnitude.
template <class F>
std::uint64_t digest(F&& f) {
  std::mt19937_64 random(11);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (int n = 0; n < 20000; ++n) {
    // A sign, an exponent from 2^-64 to 2^15, a fraction.
    const std::uint64_t bits = random();
    const std::uint64_t exponent = (bits >> 52 & 0x7ff) % 80 + 1023 - 64;
    const double x = std::bit_cast<double>((bits & 0x800fffffffffffffu) | exponent << 52);
    const double y = f(x);
    hash = (hash ^ (std::isnan(y) ? 0 : std::bit_cast<std::uint64_t>(y))) * 0x100000001b3u;
  }
  return hash;
}

// Bits, so that a platform where they differ fails here and not in a golden file.
TEST(MathEnds, TheSameBitsEverywhere) {
  EXPECT_EQ(exp(1.0), 0x1.5bf0a8b145769p+1);
  EXPECT_EQ(exp(-0.1), 0x1.cf46d99d52b3ap-1);
  EXPECT_EQ(log(10.0), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(tanh(0.7), 0x1.356fb17af2e91p-1);
  EXPECT_EQ(digest([](double x) { return exp(x); }), 691186109608787240u);
  EXPECT_EQ(digest([](double x) { return log(x); }), 2486840021132232041u);
  EXPECT_EQ(digest([](double x) { return tanh(x); }), 297183355868446570u);
}

TEST(MathEnds, FloatIsTheRoundedDouble) {
  for (float x = -5; x < 5; x += 0.37f) {
    EXPECT_EQ(exp(x), static_cast<float>(exp(static_cast<double>(x))));
    EXPECT_EQ(tanh(x), static_cast<float>(tanh(static_cast<double>(x))));
    EXPECT_EQ(log(x + 5.5f), static_cast<float>(log(static_cast<double>(x + 5.5f))));
  }
}

}  // namespace
}  // namespace heed::reference
