#include "kernels/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/case_test.h"

namespace heed::kernels {
namespace {

using test::for_each_target;
using test::Random;

struct Rows {
  std::size_t tokens = 3, heads = 2, dim = 8, gap = 5;
  std::vector<float> values = {}, weight = {}, cos_sin = {};
  std::size_t dims = 8, period = 2;

  void make(Random& random) {
    values.resize(tokens * stride());
    weight.resize(dim);
    cos_sin.resize(period * dims);
    for (float& x : values) x = random.normal();
    for (float& x : weight) x = random.normal();
    for (float& x : cos_sin) x = random.normal();
  }
  std::size_t stride() const { return heads * dim + gap; }
  HeadRows view() {
    return {values.data(), tokens, heads, dim, static_cast<std::ptrdiff_t>(stride())};
  }
  // f(row, token) for every row; gaps stay.
  template <class F>
  void for_rows(F&& f) {
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t h = 0; h < heads; ++h) f(values.data() + t * stride() + h * dim, t);
  }
};

TEST(KernelRows, TurnPairsByTheAnglesOfTheirToken) {
  for_each_target([](const std::string&) {
    for (const RotaryPairs pairs : {RotaryPairs::half_split, RotaryPairs::interleaved})
      for (const std::size_t dims : {0, 2, 6, 16, 34, 64}) {
        Random random(dims);
        Rows rows{.dim = 64};
        rows.dims = dims;
        rows.make(random);
        Rows expected = rows;
        expected.for_rows([&](float* row, std::size_t t) {
          const float* angle = rows.cos_sin.data() + t % rows.period * dims;
          for (std::size_t c = 0; c < dims / 2; ++c) {
            const bool half = pairs == RotaryPairs::half_split;
            float& a = row[half ? c : 2 * c];
            float& b = row[half ? c + dims / 2 : 2 * c + 1];
            const float x = a, y = b, cosine = angle[c], sine = angle[dims / 2 + c];
            a = x * cosine - y * sine;
            b = y * cosine + x * sine;
          }
        });
        finish_rows(chosen_target(), rows.view(), {},
                    {rows.cos_sin.data(), rows.period, dims, pairs}, 2);
        EXPECT_EQ(rows.values, expected.values) << dims;
      }
  });
}

TEST(KernelRows, NormThenTurn) {
  for_each_target([](const std::string&) {
    for (const std::size_t dim : {1, 2, 7, 8, 9, 64, 100}) {
      Random random(dim);
      Rows rows{.tokens = 40, .heads = 20, .dim = dim};
      rows.dims = dim / 2 * 2;
      rows.make(random);
      Rows expected = rows;
      expected.for_rows([&](float* row, std::size_t) {
        double sum = 0;
        for (std::size_t c = 0; c < dim; ++c)
          sum += static_cast<double>(row[c]) * static_cast<double>(row[c]);
        const double scale = 1 / std::sqrt(sum / static_cast<double>(dim) + 0.01);
        for (std::size_t c = 0; c < dim; ++c)
          row[c] = static_cast<float>(static_cast<double>(row[c]) * scale *
                                      static_cast<double>(rows.weight[c]));
      });
      const RowNorm norm = {rows.weight.data(), 0.01f};
      finish_rows(chosen_target(), rows.view(), norm, {}, 1);
      for (std::size_t n = 0; n < rows.values.size(); ++n) {
        // The sum of dim squares errs by dim / 2 * eps in its root, then four roundings.
        const double bound = (static_cast<double>(dim) / 2 + 5) * 0x1p-24;
        ASSERT_NEAR(rows.values[n], expected.values[n],
                    bound * std::abs(static_cast<double>(expected.values[n])))
            << dim;
      }
      const RowTurn turn = {rows.cos_sin.data(), rows.period, rows.dims, RotaryPairs::half_split};
      Rows both = rows, one_thread = rows;
      finish_rows(chosen_target(), both.view(), norm, turn, 3);
      finish_rows(chosen_target(), one_thread.view(), norm, {}, 1);
      finish_rows(chosen_target(), one_thread.view(), {}, turn, 1);
      EXPECT_EQ(both.values, one_thread.values);
    }
  });
}

}  // namespace
}  // namespace heed::kernels
