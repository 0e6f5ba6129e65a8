#include "layer/turns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace heed {
namespace {

const std::vector<double> kFrequencies = {1.0, 0.25, 0.001};

TEST(Turns, EveryRowHoldsTheAnglesOfItsPosition) {
  for (const std::size_t threads : {1, 3}) {
    TurnTable table(100, kFrequencies);
    std::vector<std::int64_t> positions(100);
    std::iota(positions.begin(), positions.end(), 100000);
    table.place(positions, threads);
    for (std::size_t t = 0; t < 100; ++t)
      for (std::size_t c = 0; c < 3; ++c) {
        const double angle = static_cast<double>(positions[t]) * kFrequencies[c];
        EXPECT_EQ(table.data()[t * 6 + c], static_cast<float>(std::cos(angle)));
        EXPECT_EQ(table.data()[t * 6 + 3 + c], static_cast<float>(std::sin(angle)));
      }
  }
}

TEST(Turns, RowsMoveOneByOne) {
  TurnTable table(3, kFrequencies);
  const auto first_cosine = [&](std::size_t t) { return table.data()[t * 6]; };
  table.place(std::vector<std::int64_t>{0, 1}, 1);
  table.place(std::vector<std::int64_t>{0, 5, 2}, 1);
  EXPECT_EQ(first_cosine(0), 1.0f);
  EXPECT_EQ(first_cosine(1), static_cast<float>(std::cos(5.0)));
  EXPECT_EQ(first_cosine(2), static_cast<float>(std::cos(2.0)));
  table.place(std::vector<std::int64_t>{7}, 1);
  EXPECT_EQ(first_cosine(0), static_cast<float>(std::cos(7.0)));
  EXPECT_EQ(first_cosine(1), static_cast<float>(std::cos(5.0)));
}

}  // namespace
}  // namespace heed
