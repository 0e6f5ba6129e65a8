#include "base/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "heed/error.h"

namespace heed {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
const float kSomething[1] = {0};  // describe() reads no element

ConstTensorView tensor(std::size_t batch, std::size_t heads, std::size_t tokens, std::size_t dim) {
  return bhnd(kSomething, batch, heads, tokens, dim);
}

// Batch 2, 4 query heads on 2 key heads, 3 queries, 5 keys, d_k 8, d_v 6.
const ConstTensorView kQ = tensor(2, 4, 3, 8), kK = tensor(2, 2, 5, 8), kV = tensor(2, 2, 5, 6);

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::string refusal_of(const AttentionOptions& options) {
  return error_of([&] { describe(kQ, kK, kV, options); });
}

std::string error_of(ConstTensorView q, ConstTensorView k, ConstTensorView v) {
  return error_of([&] { describe(q, k, v, {}); });
}

bool operator==(KeyRange a, KeyRange b) {
  return a.begin == b.begin && a.end == b.end;
}

KeyRange range(const AttentionOptions& options, std::size_t sequence, std::size_t i) {
  const Problem problem = describe(kQ, kK, kV, options);
  return problem.visible_keys(problem.sequences[sequence], i);
}

TEST(Problem, DescribesAPaddedBatch) {
  const Problem problem = describe(kQ, kK, kV, {});
  EXPECT_EQ(problem.query_heads, 4u);
  EXPECT_EQ(problem.kv_heads, 2u);
  EXPECT_EQ(problem.kv_head(0), 0u);
  EXPECT_EQ(problem.kv_head(1), 0u);
  EXPECT_EQ(problem.kv_head(2), 1u);
  EXPECT_EQ(problem.key_dim, 8u);
  EXPECT_EQ(problem.value_dim, 6u);
  EXPECT_EQ(problem.scale, 1 / std::sqrt(8.0));
  ASSERT_EQ(problem.sequences.size(), 2u);
  EXPECT_EQ(problem.sequences[1].batch, 1u);
  EXPECT_EQ(problem.sequences[1].queries, 3u);
  EXPECT_EQ(problem.sequences[1].key_length, 5u);
  EXPECT_FALSE(problem.ragged);
}

TEST(Problem, DescribesARaggedBatch) {
  const std::int64_t cu_q[] = {0, 2, 2, 7}, cu_k[] = {0, 3, 4, 10}, lengths[] = {1, 1, 6};
  const Problem problem = describe(tensor(1, 4, 7, 8), tensor(1, 2, 10, 8), tensor(1, 2, 10, 6),
                                   {.causal = Causal::lower_right,
                                    .key_lengths = lengths,
                                    .cu_seqlens_q = cu_q,
                                    .cu_seqlens_k = cu_k});
  EXPECT_TRUE(problem.ragged);
  ASSERT_EQ(problem.sequences.size(), 3u);
  EXPECT_EQ(problem.most_queries, 5u);
  EXPECT_EQ(problem.most_keys, 6u);
  const Sequence& first = problem.sequences[0];
  EXPECT_EQ(first.key_length, 1u);
  EXPECT_EQ(first.offset, -1);
  const Sequence& last = problem.sequences[2];
  EXPECT_EQ(last.batch, 0u);
  EXPECT_EQ(last.first_query, 2u);
  EXPECT_EQ(last.first_key, 4u);
  EXPECT_EQ(last.queries, 5u);
  EXPECT_EQ(last.keys, 6u);
  EXPECT_EQ(last.offset, 1);
}

TEST(Problem, DescribingAgainForgetsTheFirst) {
  Problem problem = describe(kQ, kK, kV, {.causal = Causal::lower_right, .window_left = 1});
  describe(problem, tensor(1, 1, 2, 4), tensor(1, 1, 2, 4), tensor(1, 1, 2, 4), {});
  EXPECT_EQ(problem.sequences.size(), 1u);
  EXPECT_EQ(problem.most_keys, 2u);
  EXPECT_FALSE(problem.reach_left);
  EXPECT_FALSE(problem.reach_right);
}

TEST(Problem, VisibleKeys) {
  EXPECT_TRUE(range({}, 0, 2) == (KeyRange{0, 5}));
  EXPECT_TRUE(range({.causal = Causal::upper_left}, 0, 0) == (KeyRange{0, 1}));
  EXPECT_TRUE(range({.causal = Causal::lower_right}, 0, 0) == (KeyRange{0, 3}));
  const std::int64_t lengths[] = {2, 4};
  EXPECT_TRUE(range({.key_lengths = lengths}, 1, 0) == (KeyRange{0, 4}));
  // Lower right of a length below n_q: offset -1, the first row sees nothing.
  EXPECT_EQ(range({.causal = Causal::lower_right, .key_lengths = lengths}, 0, 0).size(), 0u);
  EXPECT_TRUE(range({.causal = Causal::lower_right, .key_lengths = lengths}, 0, 2) ==
              (KeyRange{0, 2}));
  EXPECT_TRUE(range({.query_offset = 1, .window_left = 1, .window_right = 1}, 0, 2) ==
              (KeyRange{2, 5}));
  EXPECT_TRUE(range({.query_offset = 1, .window_right = 0}, 0, 2) == (KeyRange{0, 4}));
  const std::int64_t offsets[] = {-7, 2};
  EXPECT_EQ(range({.causal = Causal::upper_left, .query_offsets = offsets}, 0, 2).size(), 0u);
  EXPECT_TRUE(range({.causal = Causal::upper_left, .query_offsets = offsets}, 1, 2) ==
              (KeyRange{0, 5}));
}

TEST(Problem, HostileOffsetsAndWindowsAreExact) {
  const auto causal = Causal::upper_left;
  EXPECT_TRUE(range({.causal = causal, .query_offset = kMost}, 0, 2) == (KeyRange{0, 5}));
  EXPECT_EQ(range({.causal = causal, .query_offset = kLeast}, 0, 2).size(), 0u);
  EXPECT_TRUE(range({.query_offset = 0, .window_left = kMost, .window_right = kMost}, 0, 2) ==
              (KeyRange{0, 5}));
  EXPECT_TRUE(range({.query_offset = kMost, .window_left = kMost}, 0, 2) == (KeyRange{2, 5}));
  EXPECT_EQ(range({.query_offset = kMost, .window_left = 7}, 0, 2).size(), 0u);
  EXPECT_TRUE(range({.query_offset = kLeast, .window_left = kMost}, 0, 2) == (KeyRange{0, 5}));
  // i + INT64_MIN + INT64_MAX = i - 1
  EXPECT_TRUE(range({.query_offset = kLeast, .window_right = kMost}, 0, 2) == (KeyRange{0, 2}));
}

TEST(Problem, DistanceForAlibi) {
  EXPECT_EQ(distance({.offset = 2}, 3, 1), 4.0);
  EXPECT_EQ(distance({.offset = -9}, 3, 1), 7.0);
  EXPECT_EQ(distance({.offset = kLeast}, 0, 0), 0x1p63);
  EXPECT_EQ(distance({.offset = kMost}, 5, 0), 0x1p63);
}

TEST(Problem, BroadcastAxesHaveStrideZero) {
  const bool mask[5] = {};
  const ScoreView view = describe(kQ, kK, kV, {.mask = scores(mask, 1, 1, 1, 5)}).mask;
  EXPECT_EQ(view.strides, (std::array<std::ptrdiff_t, 4>{0, 0, 0, 1}));
}

TEST(Problem, EmptyAxesAreAllowed) {
  EXPECT_EQ(error_of(tensor(0, 4, 3, 8), tensor(0, 2, 5, 8), tensor(0, 2, 5, 6)), "no error");
  EXPECT_EQ(error_of(tensor(2, 4, 0, 8), tensor(2, 2, 5, 8), tensor(2, 2, 5, 6)), "no error");
  EXPECT_EQ(error_of(tensor(2, 4, 3, 8), tensor(2, 2, 0, 8), tensor(2, 2, 0, 6)), "no error");
  const std::int64_t none[] = {0};
  EXPECT_TRUE(describe(tensor(1, 1, 0, 1), tensor(1, 1, 0, 1), tensor(1, 1, 0, 1),
                       {.cu_seqlens_q = none, .cu_seqlens_k = none})
                  .sequences.empty());
}

TEST(Problem, ShapesThatDisagree) {
  EXPECT_EQ(error_of(kQ, tensor(2, 2, 5, 9), kV), "attention: query has head_dim 8 but key has 9");
  EXPECT_EQ(error_of(tensor(1, 4, 3, 8), kK, kV), "attention: query has batch 1 but key has 2");
  EXPECT_EQ(error_of(kQ, kK, tensor(3, 2, 5, 6)), "attention: key has batch 2 but value has 3");
  EXPECT_EQ(error_of(kQ, kK, tensor(2, 1, 5, 6)), "attention: key has 2 heads but value has 1");
  EXPECT_EQ(error_of(kQ, kK, tensor(2, 2, 4, 6)), "attention: key has 5 tokens but value has 4");
  EXPECT_EQ(error_of(tensor(2, 3, 3, 8), kK, kV),
            "attention: query has 3 heads, which is not a multiple of key's 2");
  EXPECT_EQ(error_of(tensor(2, 0, 3, 8), kK, kV),
            "attention: query has 0 heads, expected at least 1");
  EXPECT_EQ(error_of(kQ, kK, tensor(2, 2, 5, 0)),
            "attention: value has head_dim 0, expected at least 1");
  const std::int32_t integers[1] = {};
  EXPECT_EQ(error_of(bhnd(integers, 2, 4, 3, 8), kK, kV),
            "attention: query has dtype i32, expected f32, f16, bf16 or f64");
}

TEST(Problem, SizesThatDoNotFit) {
  ConstTensorView huge = tensor(1, 1, std::numeric_limits<std::size_t>::max(), 1);
  EXPECT_THAT(error_of(huge, kK, kV), HasSubstr("more than the"));
  huge = tensor(2, 4, 3, 8);
  huge.head_stride = std::numeric_limits<std::ptrdiff_t>::min();
  EXPECT_THAT(error_of(huge, kK, kV), HasSubstr("query has 4 rows of stride -9223372036854775808"));
}

TEST(Problem, OptionsThatCannotBeUsed) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const float three[3] = {}, bad[4] = {0, 0, 0, nan};
  const std::int64_t one[1] = {};
  EXPECT_EQ(refusal_of({.scale = nan}), "attention: scale is nan, expected a finite number");
  for (const float cap : {0.0f, -1.0f, nan, infinity})
    EXPECT_THAT(refusal_of({.softcap = cap}), HasSubstr("attention: softcap is "));
  EXPECT_EQ(refusal_of({.causal = Causal::upper_left, .window_left = -1}),
            "attention: window_left is -1, expected at least 0");
  EXPECT_EQ(refusal_of({.causal = Causal::upper_left, .window_right = kLeast}),
            "attention: window_right is -9223372036854775808, expected at least 0");
  EXPECT_EQ(refusal_of({.alibi_slopes = three}),
            "attention: alibi_slopes has 3 values but there are 4 query heads");
  EXPECT_EQ(refusal_of({.alibi_slopes = bad}),
            "attention: alibi_slopes[3] is nan, expected a finite number");
  EXPECT_EQ(refusal_of({.sinks = three}),
            "attention: sinks has 3 values but there are 4 query heads");
  EXPECT_EQ(refusal_of({.sinks = bad}),
            "attention: sinks[3] is nan, expected a number below infinity");
  EXPECT_EQ(refusal_of({.query_offset = 7, .query_offsets = one}),
            "attention: query_offset is 7 but query_offsets has 1 values; give one of them");
  EXPECT_EQ(refusal_of({.query_offsets = one}),
            "attention: query_offsets has 1 values but there are 2 sequences");
}

TEST(Problem, WindowsAndAlibiNeedToKnowWhereQueriesStand) {
  const float slopes[4] = {};
  EXPECT_EQ(refusal_of({.window_left = 1}),
            "attention: window_left needs causal or query_offset, because sequence 0 has 3 queries "
            "but 5 keys");
  EXPECT_THAT(refusal_of({.window_right = 1}), HasSubstr("window_right needs causal"));
  EXPECT_THAT(refusal_of({.alibi_slopes = slopes}), HasSubstr("alibi_slopes needs causal"));
  const std::int64_t lengths[] = {3, 3};
  EXPECT_EQ(refusal_of({.window_left = 1, .key_lengths = lengths}), "no error");
  EXPECT_EQ(refusal_of({.query_offset = 0, .window_left = 1}), "no error");
}

TEST(Problem, KeyLengthsOutOfRange) {
  const std::int64_t high[] = {5, 6}, low[] = {-1, 0}, many[] = {1, 1, 1};
  EXPECT_EQ(refusal_of({.key_lengths = high}),
            "attention: key_lengths[1] is 6 but that sequence has 5 keys");
  EXPECT_EQ(refusal_of({.key_lengths = low}),
            "attention: key_lengths[0] is -1 but that sequence has 5 keys");
  EXPECT_EQ(refusal_of({.key_lengths = many}),
            "attention: key_lengths has 3 values but there are 2 sequences");
}

TEST(Problem, MasksAndBiasesOfTheWrongKind) {
  const float numbers[1] = {};
  const std::uint8_t bytes[1] = {};
  EXPECT_EQ(refusal_of({.mask = scores(numbers, 1, 1, 3, 5)}),
            "attention: mask has dtype f32, expected bool or u8");
  EXPECT_EQ(refusal_of({.mask = scores(bytes, 2, 4, 3, 5)}), "no error");
  EXPECT_EQ(refusal_of({.bias = scores(bytes, 1, 1, 3, 5)}),
            "attention: bias has dtype u8, expected f32, f16, bf16 or f64");
  EXPECT_EQ(refusal_of({.bias = scores(numbers, 1, 2, 3, 5)}),
            "attention: bias has 2 query heads but there are 4");
  EXPECT_EQ(refusal_of({.bias = scores(numbers, 1, 4, 3, 4)}),
            "attention: bias has 4 keys but there are 5");
}

TEST(Problem, RaggedBatchesThatAreWrong) {
  const ConstTensorView q = tensor(1, 1, 4, 2), k = tensor(1, 1, 6, 2);
  const auto error = [&](std::vector<std::int64_t> cu_q, std::vector<std::int64_t> cu_k) {
    return error_of([&] { describe(q, k, k, {.cu_seqlens_q = cu_q, .cu_seqlens_k = cu_k}); });
  };
  EXPECT_EQ(error({0, 4}, {0, 6}), "no error");
  EXPECT_EQ(error({0, 4}, {}), "attention: cu_seqlens_q has 2 values but cu_seqlens_k has 0");
  EXPECT_EQ(error({1, 4}, {0, 6}), "attention: cu_seqlens_q starts at 1, expected 0");
  EXPECT_EQ(error({0, 3, 2, 4}, {0, 2, 4, 6}),
            "attention: cu_seqlens_q falls from 3 to 2 at index 2");
  EXPECT_EQ(error({0, 4}, {0, kMost}),
            "attention: cu_seqlens_k ends at 9223372036854775807 but key has 6 tokens");
  const std::int64_t cu[] = {0, 3};
  EXPECT_EQ(refusal_of({.cu_seqlens_q = cu, .cu_seqlens_k = cu}),
            "attention: query has batch 2, expected 1 with cu_seqlens_q (a ragged batch)");
}

TEST(Problem, OutputAndData) {
  const Problem problem = describe(kQ, kK, kV, {});
  EXPECT_NO_THROW(require_output(problem, kQ, tensor(2, 4, 3, 6)));
  const auto error = [&](ConstTensorView out) {
    return error_of([&] { require_output(problem, kQ, out); });
  };
  EXPECT_EQ(error(tensor(1, 4, 3, 6)), "attention: query has batch 2 but out has 1");
  EXPECT_EQ(error(tensor(2, 2, 3, 6)), "attention: query has 4 heads but out has 2");
  EXPECT_EQ(error(tensor(2, 4, 5, 6)), "attention: query has 3 tokens but out has 5");
  EXPECT_EQ(error(tensor(2, 4, 3, 8)), "attention: value has head_dim 6 but out has 8");
  ConstTensorView q = kQ;
  q.data = nullptr;
  EXPECT_EQ(error_of([&] { require_data("query", q); }),
            "attention: query has no data for its [2, 4, 3, 8] elements");
  q.tokens = 0;
  EXPECT_NO_THROW(require_data("query", q));
}

}  // namespace
}  // namespace heed
