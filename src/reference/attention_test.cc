#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "heed/reference.h"

namespace heed::reference {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

// Figures given to 6 places are within half a unit of the sixth.
constexpr double kSixPlaces = 0.5e-6;

TEST(WorkedExamples, ILoveAi) {
  const double q[] = {1, 0, 1, 1, 2, 1}, k[] = {0, 1, 1, 0, 1, 1}, v[] = {1, 2, 0, 1, 1, 3};
  const auto r = attention<double>(bhnd(q, 1, 1, 3, 2), bhnd(k, 1, 1, 3, 2), bhnd(v, 1, 1, 3, 2));
  EXPECT_EQ(r.raw.values, (std::vector<double>{0, 1, 1, 1, 1, 2, 1, 2, 3}));
  EXPECT_THAT(r.p.values,
              Pointwise(DoubleNear(kSixPlaces), {0.197776, 0.401112, 0.401112, 0.248255, 0.248255,
                                                 0.503490, 0.140029, 0.283995, 0.575975}));
  EXPECT_THAT(r.o.values, Pointwise(DoubleNear(kSixPlaces),
                                    {0.598888, 2.000000, 0.751745, 2.255235, 0.716005, 2.291980}));
}

TEST(WorkedExamples, SelfishAttention) {
  const double keys[] = {1,  0,  1, 1, 0, -1, -1, 1, 0, -1, 0,  1,   //
                         2,  3,  9, 1, 4, 3,  -1, 0, 5, -1, -2, 0,   //
                         -2, -1, 0, 1, 0, -1, -1, 1, 0, -1, -3, 1};  // [3, 4, 3]
  const double query[] = {2, 0, -1, 1, 1, 1, -2, 1, -1};             // [3, 3]
  const auto r = selfish_attention<double>(keys, query, 3, 4, 3);
  EXPECT_EQ(r.raw.values, (std::vector<double>{1, 3, -2, -3, 14, 8, 4, -3, 3, -1, 3, -2}));
  EXPECT_THAT(r.p.values, Pointwise(DoubleNear(kSixPlaces),
                                    {0.118243, 0.873704, 0.005887, 0.002166, 0.997482, 0.002473,
                                     0.000045, 0.000000, 0.493814, 0.009045, 0.493814, 0.003327}));
  EXPECT_THAT(r.o.values,
              Pointwise(DoubleNear(kSixPlaces), {0.983895, 0.005887, -0.753296, 1.997392, 3.002336,
                                                 8.984983, -1.475725, -0.009982, -0.005717}));
}

}  // namespace
}  // namespace heed::reference
