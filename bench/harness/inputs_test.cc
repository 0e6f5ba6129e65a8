#include "bench/harness/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace heed::bench {
namespace {

constexpr Shape kSmall{.name = "small",
                       .batch = 2,
                       .query_heads = 4,
                       .kv_heads = 2,
                       .n_q = 96,
                       .n_k = 128,
                       .head_dim = 32};

TEST(BenchInputs, LookNormalAndStartOnACacheLine) {
  const Inputs inputs(std::vector{kSmall});
  const auto kv = inputs.kv_memory(kSmall);
  ASSERT_EQ(kv.size(), 2u * 2 * 2 * 128 * 32 * sizeof(float));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kv.data()) % 64, 0u);
  const auto* x = reinterpret_cast<const float*>(kv.data());
  const std::size_t n = kv.size() / sizeof(float);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += x[i];
    squares += double{x[i]} * x[i];
  }
  const double count = static_cast<double>(n);
  EXPECT_LT(std::abs(sum / count), 5 / std::sqrt(count));  // five deviations of the mean
  EXPECT_NEAR(squares / count, 1.0, 5 * std::sqrt(2 / count));
}

TEST(BenchInputs, HalvesAreTheSameNumbersRounded) {
  Shape half = kSmall;
  half.kv_dtype = DType::f16;
  const Inputs inputs(std::vector{kSmall, half});
  const auto* x = static_cast<const float*>(inputs.problem(kSmall).v.data);
  const auto* y = static_cast<const f16*>(inputs.problem(half).v.data);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(to_f16(x[i]).bits, y[i].bits);
}

TEST(BenchInputs, ARaggedProblemIsTokenByToken) {
  Shape ragged = kSmall;
  ragged.batch = 4;
  ragged.kv_heads = ragged.query_heads;
  ragged.n_q = ragged.n_k = 64;
  ragged.shortest = 8;
  const Inputs inputs(std::vector{ragged});
  const Problem problem = inputs.problem(ragged);
  EXPECT_EQ(problem.q.batch, 1u);
  EXPECT_EQ(problem.q.token_stride, 4 * 32);
  EXPECT_EQ(problem.cu_seqlens.size(), 5u);
  EXPECT_EQ(problem.cu_seqlens.back(), static_cast<std::int64_t>(query_tokens(ragged)));
  EXPECT_EQ(problem.options().cu_seqlens_q.data(), problem.cu_seqlens.data());
}

}  // namespace
}  // namespace heed::bench
