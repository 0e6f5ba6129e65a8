// For the tests of int8: what decode may add to the error, as it rounds queries and weights to 16
// bits. Cases hold the numbers that their rows stand for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/case_test.h"

namespace heed::test {

// No score is larger: max |q| times the largest sum of |k|, scaled.
inline double largest_score(const Case& c) {
  double sum = 0;
  for (std::size_t b = 0; b < c.batch; ++b)
    for (std::size_t h = 0; h < c.kv_heads; ++h)
      for (std::size_t t = 0; t < c.n_k; ++t) {
        double row = 0;
        for (std::size_t x = 0; x < c.d_k; ++x)
          row += std::abs(static_cast<double>(c.k.get(b, h, t, x)));
        if (std::isfinite(row)) sum = std::max(sum, row);
      }
  const double scale = c.options.scale ? static_cast<double>(*c.options.scale)
                                       : 1 / std::sqrt(static_cast<double>(c.d_k));
  return scale * largest(c.q) * sum;
}

// If scores are off by e at most: weights then lie within e^(-2e) and e^(2e) of what they should
// be. They are rounded 128 at a time, to multiples of the largest p_j max |v_j| / 32767 (and 2^-6
// more for the float arithmetic of it), so that o is off by at most half of that for each of them;
// and the largest p of all blocks are at most 1 together.
inline Allowed allowed_if_scores_err(const Case& c, double e) {
  const double block = static_cast<double>(std::min<std::size_t>(c.n_k, 128));
  return {
      .o = (std::expm1(2 * e) + std::exp(2 * e) * block * (0.5 + 0x1p-6) / 32767) * largest(c.v),
      .lse = e};
}

// Queries are rounded to multiples of max |q| / 32767, so a score is off by at most half of one
// times the sum of |k|; the arithmetic takes eight roundings, 2^-6 of a step at most.
inline Allowed int8_allowed(const Case& c) {
  return allowed_if_scores_err(c, largest_score(c) * (0.5 + 0x1p-6) / 32767);
}

// If queries are such multiples already.
inline Allowed int8_allowed_on_grid(const Case& c) {
  return allowed_if_scores_err(c, largest_score(c) * 8 * 0x1p-24);
}

}  // namespace heed::test
