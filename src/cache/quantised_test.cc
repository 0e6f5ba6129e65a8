// How far attention over an int8 cache is from attention over the numbers that were appended: never
// beyond what rounding can do at worst, and usually as far as independent rounding errors go.
#include <gtest/gtest.h>

#include <cmath>

#include "cache/cache_case_test.h"

namespace heed {
namespace {

using test::Case;
using test::contiguous_cache;
using test::Random;

// Largest magnitude of a row / 127, the step of its integers.
double step_of(const test::Stored& s, std::size_t h, std::size_t t) {
  double largest = 0;
  for (std::size_t c = 0; c < s.dim; ++c)
    largest = std::max(largest, std::abs(static_cast<double>(s.get(0, h, t, c))));
  return largest / 127;
}

struct Case8 {
  Case c;
  reference::Attention<double> truth;

  explicit Case8(std::size_t n_q, float scale) {
    Random random(17);
    c.query_heads = 4;
    c.kv_heads = 2;
    c.n_q = n_q;
    c.n_k = 500;
    c.d_k = c.d_v = 64;
    c.make(random, scale);
    truth = c.oracle<double>();
    attention(c.q.view(), contiguous_cache(c, DType::i8, random), c.out.view());
  }
};

// Keys: |s' - s| <= d = scale * |q|_1 * step / 2, so p' / p lies within e^(-2d) and e^(2d), and the
// output moves by at most (e^(2d) - 1) max |v|. Values: their average moves by at most step / 2.
// Slack: float arithmetic, as relative 2^-16 (the sums have 564 terms, each within 2^-24).
TEST(Int8Cache, ErrsNeverBeyondTheWorstCase) {
  for (const std::size_t n_q : {1, 9})
    for (const float scale : {0.5f, 1.0f, 2.0f}) {
      const Case8 x(n_q, scale);
      const Case& c = x.c;
      for (std::size_t h = 0; h < c.query_heads; ++h) {
        const std::size_t g = h / 2;
        double key_step = 0, value_step = 0, largest = 0;
        for (std::size_t t = 0; t < c.n_k; ++t) {
          key_step = std::max(key_step, step_of(c.k, g, t));
          value_step = std::max(value_step, step_of(c.v, g, t));
        }
        largest = 127 * value_step;
        for (std::size_t i = 0; i < c.n_q; ++i) {
          double q_norm = 0;
          for (std::size_t d = 0; d < c.d_k; ++d)
            q_norm += std::abs(static_cast<double>(c.q.get(0, h, i, d)));
          const double moved = q_norm / std::sqrt(64.0) * key_step / 2;
          const double bound = (std::expm1(2 * moved) * largest + value_step / 2) * (1 + 0x1p-16) +
                               largest * 0x1p-16;
          for (std::size_t d = 0; d < c.d_v; ++d)
            ASSERT_LE(std::abs(c.out.get(0, h, i, d) - x.truth.o.at(0, h, i, d)), bound);
        }
      }
    }
}

// To first order o' - o = sum_j p_j ((s'_j - s_j) (v_j - o) + (v'_j - v_j)). Rounding errors of a
// row are spread evenly over one step, of variance step^2 / 12, and independent. So
//   rms^2 = mean of sum_j p_j^2 (scale^2 |q|^2 key_step_j^2 (v_j - o)^2 + value_step_j^2) / 12.
TEST(Int8Cache, ErrsAsIndependentRoundingDoes) {
  for (const std::size_t n_q : {4, 40}) {
    const Case8 x(n_q, 1.0f);
    const Case& c = x.c;
    double expected = 0, measured = 0, bias = 0, count = 0;
    for (std::size_t h = 0; h < c.query_heads; ++h)
      for (std::size_t i = 0; i < c.n_q; ++i) {
        double q_squared = 0;
        for (std::size_t d = 0; d < c.d_k; ++d)
          q_squared += std::pow(static_cast<double>(c.q.get(0, h, i, d)), 2);
        for (std::size_t d = 0; d < c.d_v; ++d) {
          const double o = x.truth.o.at(0, h, i, d), error = c.out.get(0, h, i, d) - o;
          for (std::size_t j = 0; j < c.n_k; ++j) {
            const double away = c.v.get(0, h / 2, j, d) - o;
            expected += std::pow(x.truth.p.at(0, h, i, j), 2) / 12 *
                        (q_squared / 64 * std::pow(step_of(c.k, h / 2, j) * away, 2) +
                         std::pow(step_of(c.v, h / 2, j), 2));
          }
          measured += error * error;
          bias += error;
          count += 1;
        }
      }
    // 1024 errors or more, 64 of a row from the same keys: the ratio of the sums of squares is
    // within a factor of 1.5 of 1, and the mean within 4 of its standard deviations.
    EXPECT_LT(measured, 1.5 * expected);
    EXPECT_GT(measured, expected / 1.5);
    EXPECT_LT(std::abs(bias / count), 4 * std::sqrt(expected / count / (count / 64)));
  }
}

}  // namespace
}  // namespace heed
