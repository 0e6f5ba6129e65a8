// What the hand-computed tables of the reference are written with.
#pragma once

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <vector>

#include "heed/reference.h"

namespace heed::reference {

using Values = std::vector<double>;
using Rows = std::vector<Values>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A dozen roundings stand between these tables and the numbers: log(w) to begin with, then exp,
// sums of at most four terms, a quotient and a product.
inline constexpr double kClose = 12 * DBL_EPSILON;

// One head, d_k = 1, with q_i = 1 and k_j = log(w_j): exp(s_ij) is w_j, so that weights are simple
// fractions. The same keys in every sequence of the batch; v_j = [j + 1, 10 (j + 1)].
inline Attention<double> attend(std::size_t n_q, const Values& w, AttentionOptions options = {},
                                std::size_t batch = 1) {
  if (!options.scale) options.scale = 1.0f;
  const Values q(n_q, 1.0);
  Values k, v;
  for (const double weight : w) {
    k.push_back(std::log(weight));
    v.push_back(static_cast<double>(k.size()));
    v.push_back(10 * static_cast<double>(k.size()));
  }
  ConstTensorView q_view = bhnd(q.data(), batch, 1, n_q, 1),
                  k_view = bhnd(k.data(), batch, 1, k.size(), 1),
                  v_view = bhnd(v.data(), batch, 1, k.size(), 2);
  q_view.batch_stride = k_view.batch_stride = v_view.batch_stride = 0;
  return attention<double>(q_view, k_view, v_view, options);
}

inline void expect_value(double got, double want, const char* where, std::size_t i, std::size_t j) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << where << " [" << i << "][" << j << "] is " << got;
  else if (std::isinf(want) || want == 0)
    EXPECT_EQ(got, want) << where << " [" << i << "][" << j << "]";
  else
    EXPECT_NEAR(got, want, kClose * std::abs(want)) << where << " [" << i << "][" << j << "]";
}

// Zeros, infinities and NaN exactly, the rest to kClose.
inline void expect_rows(const Tensor<double>& t, const Rows& want, const char* where,
                        std::size_t batch = 0, std::size_t head = 0) {
  ASSERT_EQ(t.rows, want.size()) << where;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(t.cols, want[i].size()) << where;
    for (std::size_t j = 0; j < want[i].size(); ++j)
      expect_value(t.at(batch, head, i, j), want[i][j], where, i, j);
  }
}

}  // namespace heed::reference
