#include "reference/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "heed/error.h"

namespace heed::reference {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

using Places = std::vector<std::int64_t>;

Tensor<double> random_rows(std::size_t batch, std::size_t heads, std::size_t rows, std::size_t cols,
                           unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Tensor<double> t{batch, heads, rows, cols, std::vector<double>(batch * heads * rows * cols)};
  for (double& x : t.values) x = uniform(random);
  return t;
}

double ulp(double x) {
  return std::nextafter(std::abs(x), 2.0) - std::abs(x);
}

TEST(Rope, CosSinErrsByAtMostOneUlpAndThatOfPi) {
  std::mt19937_64 random(1);
  for (const double most : {0.8, 10.0, 1e3, 1e6, 0x1p50}) {
    std::uniform_real_distribution<double> uniform(-most, most);
    for (int n = 0; n < 20000; ++n) {
      const double angle = n == 0 ? 0 : uniform(random);
      const CosSin result = cos_sin(angle);
      const long double x = angle;
      const double pi = std::abs(angle) * 0x1p-107;
      ASSERT_LE(std::abs(static_cast<double>(result.cos - std::cos(x))), ulp(result.cos) + pi)
          << angle;
      ASSERT_LE(std::abs(static_cast<double>(result.sin - std::sin(x))), ulp(result.sin) + pi)
          << angle;
    }
  }
  EXPECT_TRUE(std::isnan(cos_sin(std::numeric_limits<double>::infinity()).cos));
}

// A quarter turn of pair 0 (frequency 1) and an eighth of pair 1 sends (a, b) to (-b, a) and to
// ((a - b) / sqrt 2, (a + b) / sqrt 2).
TEST(Rope, TurnsPairsByHand) {
  const double quarter = std::acos(-1.0) / 2, r = std::sqrt(0.5);
  const double frequencies[2] = {quarter, quarter / 2};
  Tensor<double> halves{1, 1, 1, 5, {1, 2, 3, 4, 9}};
  turn_rows(halves, {.dims = 4, .frequencies = frequencies}, Places{1});
  EXPECT_THAT(halves.values, Pointwise(DoubleNear(1e-15), {-3.0, -2 * r, 1.0, 6 * r, 9.0}));
  Tensor<double> neighbours{1, 1, 1, 4, {1, 2, 3, 4}};
  turn_rows(neighbours, {.pairs = RotaryPairs::interleaved, .frequencies = frequencies}, Places{1});
  EXPECT_THAT(neighbours.values, Pointwise(DoubleNear(1e-15), {-2.0, 1.0, -r, 7 * r}));
}

TEST(Rope, FrequenciesFallFromOneByThePowersOfTheBase) {
  Tensor<double> t{1, 1, 1, 4, {1, 1, 0, 0}};
  turn_rows(t, {.base = 100, .scaling = 2}, Places{3});
  EXPECT_THAT(t.values, Pointwise(DoubleNear(1e-15),
                                  {std::cos(1.5), std::cos(0.15), std::sin(1.5), std::sin(0.15)}));
}

// What RoPE is for: q_i . k_j depends on i - j alone.
TEST(Rope, ScoresDependOnTheDistanceAlone) {
  for (const RotaryPairs pairs : {RotaryPairs::half_split, RotaryPairs::interleaved}) {
    const Rotary rotary = {.pairs = pairs, .dims = 6};
    const auto dot = [&](std::int64_t i, std::int64_t j) {
      Tensor<double> q = random_rows(1, 1, 1, 8, 1), k = random_rows(1, 1, 1, 8, 2);
      turn_rows(q, rotary, Places{i});
      turn_rows(k, rotary, Places{j});
      double sum = 0;
      for (std::size_t c = 0; c < 8; ++c) sum += q.values[c] * k.values[c];
      return sum;
    };
    EXPECT_NEAR(dot(5, 2), dot(1003, 1000), 1e-12);
    EXPECT_NEAR(dot(-4, 7), dot(0, 11), 1e-12);
    EXPECT_GT(std::abs(dot(5, 2) - dot(5, 3)), 1e-3);
  }
}

TEST(Rope, EveryHeadTurnsAlikeAndEachBatchRowByItsOwnPositions) {
  Tensor<double> t = random_rows(2, 3, 2, 4, 3), moved = t;
  turn_rows(moved, {}, Places{0, 1, 5, 6});
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 3; ++h)
      for (std::size_t i = 0; i < 2; ++i) {
        Tensor<double> row{1, 1, 1, 4, {}};
        for (std::size_t c = 0; c < 4; ++c) row.values.push_back(t.at(b, h, i, c));
        turn_rows(row, {}, Places{static_cast<std::int64_t>(b * 5 + i)});
        for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(moved.at(b, h, i, c), row.values[c]);
      }
  EXPECT_THROW(turn_rows(t, {}, Places{0}), Error);
}

TEST(Rope, NormByHand) {
  Tensor<double> t{1, 2, 1, 2, {3, 4, 0, 0}};  // mean squares 12.5 and 0
  const float weight[2] = {2, -1};
  norm_rows(t, vector_of(weight, 2), 12.5);
  EXPECT_THAT(t.values, Pointwise(DoubleNear(1e-15), {6.0 / 5, -4.0 / 5, 0.0, 0.0}));
}

}  // namespace
}  // namespace heed::reference
