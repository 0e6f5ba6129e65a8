// exp2 and tanh of the kernels, on every target, against double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exp_test.cc"
#include <cstddef>

#include "kernels/exp-inl.h"
#include "kernels/foreach_target.h"  // must come first

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// y[0, n) = f(x), the last vector filled up with zeros.
template <class F>
void Map(F&& f, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    float lanes[kLanes] = {};
    for (std::size_t k = 0; k < kLanes && i + k < n; ++k) lanes[k] = x[i + k];
    hn::StoreU(f(hn::LoadU(D(), lanes)), D(), lanes);
    for (std::size_t k = 0; k < kLanes && i + k < n; ++k) y[i + k] = lanes[k];
  }
}

void Powers(float m, const float* x, float* y, std::size_t n) {
  Map([m](V v) HWY_ATTR { return Exp2Minus(m)(v); }, x, y, n);
}

void Tanhs(const float* x, float* y, std::size_t n) {
  Map([](V v) HWY_ATTR { return Tanh(v); }, x, y, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/case_test.h"

namespace heed {
HWY_EXPORT(Powers);
HWY_EXPORT(Tanhs);

namespace {

using test::for_each_target;
using test::kInf;
using test::kNaN;

float power(float m, float x) {
  float y = 0;
  HEED_FUNCTION(Powers, kernels::chosen_target())(m, &x, &y, 1);
  return y;
}

// |y - exact| in units of the last place of `exact` as a float.
double ulps(float y, double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::abs(static_cast<double>(y) - exact) / std::ldexp(1.0, exponent - 23);
}

// Every `step`-th float between two that have the same sign, in the order of their bits.
template <class F>
void for_floats(float from, float to, std::uint32_t step, F&& f) {
  constexpr std::size_t kAtOnce = 4096;
  std::vector<float> x;
  const auto last = std::bit_cast<std::uint32_t>(to);
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(from); bits <= last;) {
    x.clear();
    for (; x.size() < kAtOnce && bits <= last; bits += step)
      x.push_back(std::bit_cast<float>(bits));
    f(x);
  }
}

double worst_power(float m, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  HEED_FUNCTION(Powers, kernels::chosen_target())(m, x.data(), y.data(), x.size());
  double worst = 0;
  for (std::size_t n = 0; n < x.size(); ++n)
    worst =
        std::max(worst, ulps(y[n], std::exp2(static_cast<double>(x[n]) - static_cast<double>(m))));
  return worst;
}

TEST(Exp2, WithinTwoUlpOverTheWholeRange) {
  constexpr std::uint32_t kStep = 509;  // prime: every pattern of low bits comes up
  for_each_target([](const std::string&) {
    double worst = 0;
    const auto check = [&](const std::vector<float>& x) {
      worst = std::max(worst, worst_power(0.0f, x));
    };
    for_floats(0.0f, std::nextafter(127.5f, 0.0f), kStep, check);
    for_floats(-0.0f, -126.0f, kStep, check);
    EXPECT_LE(worst, 2.0);
  });
}

// The reduced argument takes every value between -1/2 and 1/2 that a float near 1 can have.
TEST(Exp2, WithinTwoUlpForEveryFractionNextToOne) {
  double worst = 0;
  for_floats(1.0f, std::nextafter(2.0f, 0.0f), 1,
             [&](const std::vector<float>& x) { worst = std::max(worst, worst_power(0.0f, x)); });
  EXPECT_LE(worst, 2.0);
}

TEST(Exp2, WithinTwoUlpRelativeToAnyWholeNumber) {
  for_each_target([](const std::string&) {
    for (const float m : {1.0f, -7.0f, 100.0f, -5000.0f, 65536.0f, 0x1p21f, -0x1p21f}) {
      std::vector<float> x;
      for (int n = 0; n <= 126 * 64; ++n) x.push_back(m - static_cast<float>(n) / 64.0f);
      EXPECT_LE(worst_power(m, x), 2.0) << m;
      EXPECT_EQ(power(m, m), 1.0f) << m;
    }
  });
}

TEST(Exp2, EndsOfTheRange) {
  for_each_target([](const std::string&) {
    for (const float m : {0.0f, 12.0f, -300.0f}) {
      EXPECT_EQ(power(m, m - 127.0f), 0.0f);
      EXPECT_EQ(power(m, m - 1e30f), 0.0f);
      EXPECT_EQ(power(m, -kInf), 0.0f);
      EXPECT_TRUE(std::isnan(power(m, kNaN)));
    }
  });
}

TEST(Tanh, WithinFourUlp) {
  for_each_target([](const std::string&) {
    double worst = 0;
    const auto check = [&](const std::vector<float>& x) {
      std::vector<float> y(x.size());
      HEED_FUNCTION(Tanhs, kernels::chosen_target())(x.data(), y.data(), x.size());
      for (std::size_t n = 0; n < x.size(); ++n)
        if (x[n] != 0.0f) worst = std::max(worst, ulps(y[n], std::tanh(static_cast<double>(x[n]))));
    };
    for_floats(0x1p-60f, 20.0f, 509, check);
    for_floats(-0x1p-60f, -20.0f, 509, check);
    EXPECT_LE(worst, 4.0);
    const std::array<float, 4> x = {kInf, -kInf, kNaN, 0.0f};
    std::array<float, 4> y;
    HEED_FUNCTION(Tanhs, kernels::chosen_target())(x.data(), y.data(), x.size());
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], -1.0f);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 0.0f);
  });
}

}  // namespace
}  // namespace heed
#endif  // HWY_ONCE
