#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heed/trace.h"
#include "trace/steps.h"
#include "trace/test_problems.h"

namespace heed::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Matrix sum_of(const Combination& c) {
  Matrix total(c.value.rows, c.value.cols);
  for (const Part& part : c.parts)
    for (std::size_t i = 0; i < total.values.size(); ++i) total.values[i] += part.product.values[i];
  return total;
}

TEST(Views, RowColumnAndOuterPartsSumToTheProduct) {
  for (const Problem& p : {i_love_ai(), everything(), selfish()}) {
    const Trace t = trace(p);
    for (const Node& node : t.nodes) {
      if (node.op != Op::matmul) continue;
      for (std::size_t i = 0; i < node.values.rows; ++i) {
        const Combination c = combine(t, node, View::row, i);
        EXPECT_EQ(sum_of(c), c.value) << node.id;
      }
      for (std::size_t j = 0; j < node.values.cols; ++j) {
        const Combination c = combine(t, node, View::column, j);
        EXPECT_EQ(sum_of(c), c.value) << node.id;
      }
      const Combination c = combine(t, node, View::outer);
      EXPECT_EQ(sum_of(c), node.values) << node.id;
    }
  }
}

TEST(Views, NameTheirParts) {
  const Trace t = trace(i_love_ai());
  const Combination row = combine(t, t.at("O"), View::row, 0);
  EXPECT_EQ(row.name, "row I of O");
  EXPECT_EQ(row.parts[1].name, "row love of V");
  EXPECT_EQ(row.parts[1].symbol.index, (std::vector<std::size_t>{1, 2}));
  const Combination column = combine(t, t.at("S"), View::column, 2);
  EXPECT_EQ(column.name, "column AI of S");
  EXPECT_EQ(column.parts[1].name, "column 2 of Q");
  EXPECT_EQ(column.parts[1].symbol.index, (std::vector<std::size_t>{3, 2}));  // k_32
  EXPECT_EQ(combine(t, t.at("S"), View::outer).parts[0].name, "column 1 of Q times row 1 of Kᵀ");
  EXPECT_EQ(name_of(View::entry), "entry");
  EXPECT_EQ(name_of(View::row), "row");
  EXPECT_EQ(name_of(View::column), "column");
  EXPECT_EQ(name_of(View::outer), "outer");
}

TEST(Views, RefuseWhatIsNoProduct) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(error_of([&] { combine(t, t.at("Z"), View::row, 0); }),
            "Z: is not a product, so it has no row view");
  EXPECT_EQ(error_of([&] { combine(t, t.at("S"), View::row, 3); }),
            "S: there is no row 4; there are 3");
  EXPECT_EQ(error_of([&] { combine(t, t.at("S"), View::entry, 0); }),
            "S: the entry view is expand()");
  EXPECT_EQ(error_of([&] { softmax_row(t, 0, 0, 3); }), "A: there is no row 4; there are 3");
}

TEST(SoftmaxRow, EveryPart) {
  const SoftmaxRow row = softmax_of({1, 3, 2}, {true, true, false}, std::nullopt);
  EXPECT_EQ(row.max, 3);
  EXPECT_THAT(row.shifted, ElementsAre(-2, 0, -INFINITY));
  EXPECT_EQ(row.exps[1], 1);
  EXPECT_EQ(row.exps[2], 0);
  EXPECT_NEAR(row.sum, 1 + std::exp(-2), 1e-15);
  EXPECT_NEAR(row.weights[0] + row.weights[1], 1, 1e-15);
  EXPECT_NEAR(row.lse, std::log(std::exp(1) + std::exp(3)), 1e-14);
  EXPECT_NEAR(row.naive_weights[0], row.weights[0], 1e-15);
  EXPECT_FALSE(row.naive_fails);
}

TEST(SoftmaxRow, TheNaiveFormulaOverflowsAndUnderflows) {
  const SoftmaxRow over = softmax_of({1000, 999}, {true, true}, std::nullopt);
  EXPECT_TRUE(over.naive_fails);
  EXPECT_EQ(over.naive_sum, INFINITY);
  EXPECT_TRUE(std::isnan(over.naive_weights[0]));
  EXPECT_NEAR(over.weights[0], 1 / (1 + std::exp(-1)), 1e-15);
  const SoftmaxRow under = softmax_of({-1000, -999}, {true, true}, std::nullopt);
  EXPECT_TRUE(under.naive_fails);
  EXPECT_EQ(under.naive_sum, 0);
  EXPECT_NEAR(under.weights[1], 1 / (1 + std::exp(-1)), 1e-15);
}

TEST(SoftmaxRow, ASinkTakesItsShare) {
  const SoftmaxRow row = softmax_of({0, 0}, {true, true}, 0.0);
  EXPECT_NEAR(row.weights[0], 1.0 / 3, 1e-15);
  EXPECT_NEAR(row.lse, std::log(3), 1e-15);
  const SoftmaxRow masked = softmax_of({0, 0}, {false, false}, 0.5);
  EXPECT_EQ(masked.lse, 0.5);
  EXPECT_THAT(masked.weights, ElementsAre(0, 0));
}

TEST(SoftmaxRow, NaNSpreadsOverTheRow) {
  const SoftmaxRow row = softmax_of({NAN, 1}, {true, true}, std::nullopt);
  EXPECT_TRUE(std::isnan(row.max));
  EXPECT_TRUE(std::isnan(row.weights[1]));
  EXPECT_FALSE(row.naive_fails);
}

}  // namespace
}  // namespace heed::explain
