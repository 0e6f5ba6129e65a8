#include "bench/harness/pieces.h"

#include <gtest/gtest.h>

namespace heed::bench {
namespace {

double clock_now = 0;

// A run whose pieces take this long; the last is the rest after the last word.
void run(Pieces& pieces, std::initializer_list<double> seconds) {
  const Progress progress = pieces.progress();
  pieces.begin();
  std::size_t left = seconds.size();
  for (const double piece : seconds) {
    clock_now += piece;
    if (--left == 0)
      pieces.end();
    else
      EXPECT_TRUE(progress.call(0.5, progress.user));
  }
}

TEST(BenchPieces, EachCountsWithItsFastestTime) {
  Pieces pieces([] { return clock_now; });
  run(pieces, {3, 1, 2});
  EXPECT_DOUBLE_EQ(pieces.seconds(), 6);
  run(pieces, {1, 5, 4});  // a disturbance in other pieces
  EXPECT_EQ(pieces.count(), 3u);
  EXPECT_DOUBLE_EQ(pieces.seconds(), 1 + 1 + 2);
  run(pieces, {9, 9, 9});
  EXPECT_DOUBLE_EQ(pieces.seconds(), 4);
}

TEST(BenchPieces, WhatPassesBetweenRunsCountsNowhere) {
  Pieces pieces([] { return clock_now; });
  run(pieces, {1, 1});
  clock_now += 100;
  run(pieces, {2, 2});
  EXPECT_DOUBLE_EQ(pieces.seconds(), 2);
}

TEST(BenchPieces, NoneWithoutARun) {
  EXPECT_EQ(Pieces().count(), 0u);
  EXPECT_EQ(Pieces().seconds(), 0.0);
}

}  // namespace
}  // namespace heed::bench
