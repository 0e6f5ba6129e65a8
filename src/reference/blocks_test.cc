// The reference a few rows at a time gives what it gives at once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <vector>

#include "heed/reference.h"
#include "tests/support/arbitrary_problem.h"
#include "tests/support/random_problem.h"

namespace heed::reference {
namespace {

using support::ProblemSpec;
using support::RandomProblem;

constexpr std::size_t kFewBytes = 300;  // some 7 scores

// Puts the rows of a block where they belong in the whole.
template <class T>
void place(const Block& block, Tensor<T> Attention<double>::*step, Attention<double>& whole) {
  const Tensor<T>& from = block.steps.*step;
  for (std::size_t i = 0; i < from.rows; ++i)
    for (std::size_t j = 0; j < from.cols; ++j)
      (whole.*step).at(block.sequence, block.head, block.first_row + i, j) = from.at(0, 0, i, j);
}

constexpr Tensor<double> Attention<double>::*kSteps[] = {
    &Attention<double>::raw,    &Attention<double>::scaled, &Attention<double>::capped,
    &Attention<double>::biased, &Attention<double>::p,      &Attention<double>::lse,
    &Attention<double>::o};

// Every step from blocks, next to the steps of the whole at once.
void expect_the_same(const RandomProblem& p, const AttentionOptions& options) {
  const Attention<double> expected = attention<double>(p.query(), p.key(), p.value(), options);
  Attention<double> actual = expected;
  for (const auto step : kSteps)
    for (double& x : (actual.*step).values) x = x == 0 ? 0 : -x;  // padding stays 0
  for_each_block(
      p.query(), p.key(), p.value(), options, {},
      [&](const Block& block) {
        RC_ASSERT(block.steps.o.rows * block.steps.p.cols <= 7 || block.steps.o.rows == 1);
        RC_ASSERT(block.batch == (p.spec.ragged ? 0 : block.sequence));
        for (const auto step : kSteps) place(block, step, actual);
      },
      kFewBytes);
  for (const auto step : kSteps) RC_ASSERT((actual.*step).values == (expected.*step).values);
}

RC_GTEST_PROP(Blocks, GiveTheNumbersOfTheWhole, (const ProblemSpec& spec)) {
  const RandomProblem p(spec);
  expect_the_same(p, p.options());
}

RC_GTEST_PROP(Blocks, TellAScoreModWhereItsTileLies, (const ProblemSpec& spec)) {
  const RandomProblem p(spec);
  const auto by_place = [](const auto& tile) {
    for (std::size_t i = 0; i < tile.rows; ++i)
      for (std::size_t j = 0; j < tile.cols; ++j) {
        const std::size_t place = 1000 * tile.batch + 100 * tile.head + 10 * (tile.query + i);
        tile.s[i * tile.stride + j] += static_cast<float>(place + tile.key + j) / 1024;
      }
  };
  AttentionOptions options = p.options();
  options.score_mod = score_mod(by_place);
  expect_the_same(p, options);
}

TEST(Blocks, PlacesBeyondEveryNumberStayThere) {
  RandomProblem p({.n_q = 5, .n_k = 3});
  AttentionOptions options;
  options.query_offset = std::numeric_limits<std::int64_t>::max();
  options.causal = Causal::upper_left;
  std::size_t visible = 0;
  for_each_block(
      p.query(), p.key(), p.value(), options, {},
      [&](const Block& block) {
        for (const std::uint8_t v : block.steps.visible.values) visible += v;
      },
      kFewBytes);
  EXPECT_EQ(visible, 15u);
}

TEST(Blocks, TellTheirProgressAndCanBeStopped) {
  const RandomProblem p({.batch = 2, .group = 2, .n_q = 4, .n_k = 5});
  struct Told {
    std::vector<double> done;
    std::size_t most = 100;
  } told;
  const Progress progress = {[](double done, void* user) {
                               auto& to = *static_cast<Told*>(user);
                               to.done.push_back(done);
                               return to.done.size() < to.most;
                             },
                             &told};
  std::size_t blocks = 0;
  const auto run = [&] {
    for_each_block(
        p.query(), p.key(), p.value(), {}, progress, [&](const Block&) { ++blocks; }, kFewBytes);
  };
  run();
  EXPECT_EQ(blocks, 16u);  // 2 batch rows of 2 heads of 4 rows
  EXPECT_EQ(told.done.size(), blocks);
  EXPECT_TRUE(std::is_sorted(told.done.begin(), told.done.end()));
  EXPECT_EQ(told.done.back(), 1.0);
  told = {{}, 3};
  blocks = 0;
  EXPECT_THROW(run(), Cancelled);
  EXPECT_EQ(blocks, 3u);
}

}  // namespace
}  // namespace heed::reference
