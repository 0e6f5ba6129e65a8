#include "bench/harness/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/harness/heed_run.h"
#include "heed/reference.h"

namespace heed::bench {
namespace {

// The named shapes made small enough for the whole reference: every feature they use, once.
std::vector<Shape> small_shapes() {
  const Shape base{.name = "base",
                   .batch = 2,
                   .query_heads = 4,
                   .kv_heads = 2,
                   .n_q = 24,
                   .n_k = 24,
                   .head_dim = 16};
  Shape causal = base, biased = base, ragged = base, decode = base, selfish = base;
  causal.causal = true;
  biased.batch = 1;
  biased.bias = true;
  ragged.batch = 5;
  ragged.shortest = 3;
  ragged.causal = true;
  decode.kind = Kind::decode;
  decode.n_q = 1;
  decode.kv_dtype = DType::bf16;
  selfish.kind = Kind::selfish;
  selfish.query_heads = selfish.kv_heads = selfish.n_q = 1;
  return {base, causal, biased, ragged, decode, selfish};
}

// The whole answer by the reference in float, laid out as the problem's output.
std::vector<float> plain_answer(const Problem& problem) {
  const auto plain =
      reference::attention<float>(problem.q, problem.k, problem.v, problem.options()).o;
  std::vector<float> answer(output_size(problem.shape));
  const TensorView out = output_view(problem, answer.data());
  const std::size_t sequences = plain.batch;
  for (std::size_t b = 0; b < sequences; ++b) {
    const bool ragged = problem.shape.shortest != 0;
    const auto start = ragged ? problem.cu_seqlens[b] : 0;
    const auto tokens =
        ragged ? problem.cu_seqlens[b + 1] - start : static_cast<std::int64_t>(plain.rows);
    for (std::size_t h = 0; h < plain.heads; ++h)
      for (std::int64_t i = 0; i < tokens; ++i)
        for (std::size_t c = 0; c < plain.cols; ++c)
          answer[static_cast<std::size_t>(
              (ragged ? 0 : static_cast<std::int64_t>(b) * out.batch_stride) +
              static_cast<std::int64_t>(h) * out.head_stride + (start + i) * out.token_stride +
              static_cast<std::int64_t>(c))] = plain.at(b, h, static_cast<std::size_t>(i), c);
  }
  return answer;
}

TEST(BenchOracle, PlainFloatErrsExactlyAsMuchAsPlainFloat) {
  for (const Shape& shape : small_shapes()) {
    const Inputs inputs(std::vector{shape});
    const Problem problem = inputs.problem(shape);
    std::vector<float> answer = plain_answer(problem);
    const Accuracy accuracy = Oracle(problem).check(output_view(problem, answer.data()));
    EXPECT_GT(accuracy.plain_error, 0);
    EXPECT_LT(accuracy.plain_error, 1e-5);
    EXPECT_EQ(accuracy.vs_plain(), 1.0) << accuracy.error << " " << accuracy.plain_error;
  }
}

TEST(BenchOracle, AWrongOrMissingNumberIsSeen) {
  const Shape shape = small_shapes().front();
  const Inputs inputs(std::vector{shape});
  const Problem problem = inputs.problem(shape);
  const Oracle oracle(problem);
  std::vector<float> answer = plain_answer(problem);
  answer.front() += 0.25f;  // the first row is always sampled
  EXPECT_NEAR(oracle.check(output_view(problem, answer.data())).error, 0.25, 1e-5);
  answer = plain_answer(problem);
  answer.back() = std::numeric_limits<float>::quiet_NaN();  // and so is the last
  EXPECT_TRUE(std::isinf(oracle.check(output_view(problem, answer.data())).vs_plain()));
}

// Keys and values in int8 are the numbers that they stand for.
TEST(BenchOracle, OfAnInt8CacheKnowsTheStoredNumbers) {
  const Shape shape{.name = "small",
                    .kind = Kind::decode,
                    .batch = 2,
                    .query_heads = 4,
                    .kv_heads = 2,
                    .n_q = 1,
                    .n_k = 150,
                    .head_dim = 16,
                    .kv_dtype = DType::i8};
  const Inputs inputs(std::vector{shape});
  const Problem problem = inputs.problem(shape);
  std::vector<float> answer(output_size(shape));
  HeedRun heed(problem, 1, answer.data());
  heed.run();
  EXPECT_GT(heed.workspace_bytes(), 0u);
  EXPECT_LE(Oracle(problem).check(heed.output()).vs_plain(), 2.0);
  answer.back() += 0.01f;
  EXPECT_GT(Oracle(problem).check(heed.output()).vs_plain(), 2.0);
}

// A layer is checked over all of its heads at once.
TEST(BenchOracle, OfALayerSeesAWrongNumberInAnyHead) {
  const Shape shape{.name = "layer",
                    .kind = Kind::layer,
                    .batch = 1,
                    .query_heads = 4,
                    .kv_heads = 4,
                    .n_q = 24,
                    .n_k = 24,
                    .head_dim = 16};
  const Inputs inputs(std::vector{shape});
  const Problem problem = inputs.problem(shape);
  const Oracle oracle(problem);
  std::vector<float> answer(output_size(shape));
  HeedRun heed(problem, 1, answer.data());
  heed.run();
  EXPECT_GT(oracle.check(heed.output()).plain_error, 0);
  EXPECT_LE(oracle.check(heed.output()).vs_plain(), 2.0);
  answer[63] += 0.25f;  // the last number of the first token
  EXPECT_NEAR(oracle.check(heed.output()).error, 0.25, 1e-3);
}

}  // namespace
}  // namespace heed::bench
