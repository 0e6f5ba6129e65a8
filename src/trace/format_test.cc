#include "trace/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace heed::explain {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> formatted(std::vector<double> values, NumberStyle style = {}) {
  const NumberFormat number = choose_format(values, style);
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(format(value, number));
  return texts;
}

TEST(Format, IntegersAreBare) {
  EXPECT_THAT(formatted({1, 0, -2, 30}), ElementsAre("1", "0", "−2", "30"));
}

TEST(Format, AMatrixHasOneFormat) {
  EXPECT_THAT(formatted({0.5, 2, 1.0 / 3}), ElementsAre("0.5000", "2.0000", "0.3333"));
  EXPECT_THAT(formatted({0.5, 2, 0.25}), ElementsAre("0.50", "2.00", "0.25"));
  EXPECT_THAT(formatted({0.5, 2, 1.0 / 3}, {.digits = 2}), ElementsAre("0.50", "2.00", "0.33"));
  EXPECT_THAT(formatted({0.25, 2.25}, {.digits = 0}), ElementsAre("<1", "2"));
}

TEST(Format, NeverMinusZeroNorARoundedZero) {
  EXPECT_THAT(formatted({-0.0, 0.25}), ElementsAre("0.00", "0.25"));
  EXPECT_THAT(formatted({1e-7, -1e-7, 1.0 / 3}), ElementsAre("<0.0001", ">−0.0001", "0.3333"));
}

TEST(Format, InfinitiesAndNaN) {
  EXPECT_THAT(formatted({kInf, -kInf, kNaN, 0.5}), ElementsAre("∞", "−∞", "NaN", "0.5"));
  EXPECT_THAT(formatted({kInf, -kInf, -0.5}, {.ascii = true}), ElementsAre("inf", "-inf", "-0.5"));
  EXPECT_EQ(masked_score(false), "−∞");
  EXPECT_EQ(masked_score(true), "-inf");
  EXPECT_EQ(masked_weight(false), "·");
  EXPECT_EQ(masked_weight(true), ".");
}

TEST(Format, VeryLargeAndVerySmallMatricesUseExponents) {
  EXPECT_THAT(formatted({1e308, 940, 0}), ElementsAre("1.0e+308", "9.4e+02", "0"));
  EXPECT_THAT(formatted({1e-9, -2.5e-7}), ElementsAre("1.0e-09", "−2.5e-07"));
  EXPECT_THAT(formatted({1e12}), ElementsAre("1000000000000"));  // still an integer
}

TEST(Format, FullShowsSeventeenDigits) {
  EXPECT_THAT(formatted({0.1, 2, -1.0 / 3}, {.full = true}),
              ElementsAre("0.10000000000000001", "2", "−0.33333333333333331"));
}

TEST(Format, ExactMeansThatNothingWasRounded) {
  EXPECT_TRUE(is_exact(0.25, NumberStyle{}));
  EXPECT_TRUE(is_exact(0.1 + 0.2, NumberStyle{}));  // a few ulps off 0.3
  EXPECT_FALSE(is_exact(1.0 / 3, NumberStyle{}));
  EXPECT_FALSE(is_exact(0.25, NumberStyle{.digits = 1}));
  EXPECT_TRUE(is_exact(kInf, NumberStyle{}));
  EXPECT_TRUE(is_exact(1e-9, NumberStyle{}));       // shown as 1e-09
  EXPECT_FALSE(is_exact(1e-9 / 3, NumberStyle{}));  // rounded even so
  EXPECT_TRUE(is_exact(0.5, NumberStyle{.full = true}));
  EXPECT_FALSE(is_exact(1.0 / 3, NumberStyle{.full = true}));
}

TEST(Format, ShortestReadsBack) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(-0.0), "0");
  EXPECT_EQ(shortest(1e308), "1e+308");
  EXPECT_EQ(shortest(-kInf), "-inf");
  EXPECT_EQ(shortest(kInf), "inf");
  EXPECT_EQ(shortest(kNaN), "nan");
}

TEST(Format, CountsAndShapes) {
  EXPECT_EQ(with_commas(7), "7");
  EXPECT_EQ(with_commas(1048576), "1,048,576");
  EXPECT_EQ(shape_text(3, 2), "3×2");
  EXPECT_EQ(shape_text(3, 2, true), "3x2");
}

TEST(Format, DecimalPointsStandBelowEachOther) {
  EXPECT_THAT(align_decimals({"1", "−10.25", "0.5", "−∞"}),
              ElementsAre("  1   ", "−10.25", "  0.5 ", "    −∞"));
  EXPECT_THAT(align_decimals({"1.0e+308", "0", "∞"}),
              ElementsAre("1.0e+308", "       0", "       ∞"));
}

}  // namespace
}  // namespace heed::explain
