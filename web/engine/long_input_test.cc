#include "engine/long_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "heed/reference.h"

namespace heed::web {
namespace {

io::Array normal(io::Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value;
  io::Array array(DType::f32, std::move(shape));
  for (float& x : array.as<float>()) x = value(random);
  return array;
}

struct Case {
  std::size_t queries, keys;
  bool causal;
};

class LongInputTest : public testing::TestWithParam<Case> {};

// Single precision of the pass over all keys: scores of size 8 or so, each within 2^-24 of that
// times the length of the sum (d = 8), and the exponential multiplies an error by itself.
constexpr double kTolerance = 8 * 8 * 0x1p-24;

TEST_P(LongInputTest, MapAndTilesAreThoseOfTheWholeMatrix) {
  const auto [n_q, n_k, causal] = GetParam();
  constexpr std::size_t d = 8;
  const io::Array q = normal({n_q, d}, 1), k = normal({n_k, d}, 2);
  const std::vector<float> v(n_k, 0.0f);
  AttentionOptions options;
  if (causal) options.causal = Causal::lower_right;
  const auto whole = reference::attention<double>(bhnd(q.as<float>().data(), 1, 1, n_q, d),
                                                  bhnd(k.as<float>().data(), 1, 1, n_k, d),
                                                  bhnd(v.data(), 1, 1, n_k, 1), options);
  const auto weight = [&, cols = n_k](std::size_t i, std::size_t j) {
    return whole.p.values[i * cols + j];
  };

  LongInput input(q, k, {.causal = causal});
  double done = 0;
  while (!input.slice()) {
    EXPECT_GT(input.done(), done);
    done = input.done();
  }

  const PooledMap& map = input.map();
  std::vector<double> pooled(map.rows * map.cols, 0.0);
  for (std::size_t i = 0; i < n_q; ++i)
    for (std::size_t j = 0; j < n_k; ++j) {
      double& cell = pooled[i * map.rows / n_q * map.cols + j * map.cols / n_k];
      cell = std::max(cell, weight(i, j));
    }
  for (std::size_t c = 0; c < pooled.size(); ++c)
    ASSERT_NEAR(map.largest[c], pooled[c], kTolerance);

  const std::size_t row = n_q / 2, col = n_k / 3;
  const Tile tile = input.tile(row, col, 16, 12);
  for (std::size_t i = 0; i < tile.weights.rows; ++i)
    for (std::size_t j = 0; j < tile.weights.cols; ++j)
      ASSERT_NEAR(tile.weights(i, j), weight(row + i, col + j), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LongInputTest,
                         testing::Values(Case{1, 1, false}, Case{300, 300, false},
                                         Case{300, 300, true}, Case{129, 700, true},
                                         Case{700, 129, true}, Case{513, 40, false}));

TEST(LongInput, ShapesThatDoNotFitAreNamed) {
  const auto refused = [](const io::Array& q, const io::Array& k) {
    try {
      LongInput input(q, k, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused(normal({4, 8}, 1), normal({4, 6}, 1)).find("(4, 8)"), std::string::npos);
  EXPECT_NE(refused(normal({4}, 1), normal({4, 6}, 1)).find("(4,)"), std::string::npos);
  EXPECT_NE(refused(normal({0, 8}, 1), normal({4, 8}, 1)).find("empty"), std::string::npos);
}

}  // namespace
}  // namespace heed::web
