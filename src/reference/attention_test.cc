// The oracle pinned by hand: every option on numbers small enough to check on paper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "heed/reference.h"
#include "reference/test_tables.h"

namespace heed::reference {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

// Figures given to 6 places are within half a unit of the sixth.
constexpr double kSixPlaces = 0.5e-6;

TEST(WorkedExamples, ILoveAi) {
  const double q[] = {1, 0, 1, 1, 2, 1}, k[] = {0, 1, 1, 0, 1, 1}, v[] = {1, 2, 0, 1, 1, 3};
  const auto r = attention<double>(bhnd(q, 1, 1, 3, 2), bhnd(k, 1, 1, 3, 2), bhnd(v, 1, 1, 3, 2));
  EXPECT_EQ(r.raw.values, (Values{0, 1, 1, 1, 1, 2, 1, 2, 3}));
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
  EXPECT_EQ(r.raw.values, (Values{1, 3, -2, -3, 14, 8, 4, -3, 3, -1, 3, -2}));
  EXPECT_THAT(r.p.values, Pointwise(DoubleNear(kSixPlaces),
                                    {0.118243, 0.873704, 0.005887, 0.002166, 0.997482, 0.002473,
                                     0.000045, 0.000000, 0.493814, 0.009045, 0.493814, 0.003327}));
  EXPECT_THAT(r.o.values,
              Pointwise(DoubleNear(kSixPlaces), {0.983895, 0.005887, -0.753296, 1.997392, 3.002336,
                                                 8.984983, -1.475725, -0.009982, -0.005717}));
}

// weights 1 2 3 of 6; o = (1*1 + 2*2 + 3*3) / 6; lse = log(1 + 2 + 3)
TEST(Tables, PlainSoftmax) {
  const auto r = attend(2, {1, 2, 3});
  expect_rows(r.p, {{1. / 6, 2. / 6, 3. / 6}, {1. / 6, 2. / 6, 3. / 6}}, "p");
  expect_rows(r.o, {{14. / 6, 140. / 6}, {14. / 6, 140. / 6}}, "o");
  expect_rows(r.lse, {{std::log(6)}, {std::log(6)}}, "lse");
  expect_rows(r.biased, {{0, std::log(2), std::log(3)}, {0, std::log(2), std::log(3)}}, "biased");
  EXPECT_EQ(r.visible.values, std::vector<std::uint8_t>(6, 1));
}

// q.k = 1*2 + 2*0 + 3*1 + 4*3 = 17; the default scale is 1 / sqrt(4)
TEST(Tables, Scale) {
  const double q[] = {1, 2, 3, 4}, k[] = {2, 0, 1, 3}, v[] = {1};
  const auto run = [&](const AttentionOptions& options) {
    return attention<double>(bhnd(q, 1, 1, 1, 4), bhnd(k, 1, 1, 1, 4), bhnd(v, 1, 1, 1, 1),
                             options);
  };
  EXPECT_EQ(run({}).raw.values, Values{17});
  EXPECT_EQ(run({}).scaled.values, Values{8.5});
  EXPECT_EQ(run({.scale = 2.0f}).scaled.values, Values{34});
  EXPECT_EQ(run({.scale = 0.0f}).scaled.values, Values{0});
  EXPECT_EQ(run({.scale = -1.0f}).lse.values, Values{-17});
}

// tanh(log(3) / 2) = (3 - 1) / (3 + 1) = 1/2: scores of 2 log(3) / 2 and 0 under a cap of 2 become
// 1 and 0. A scale comes before the cap: key 9 at scale 1/2 is again log(3).
TEST(Tables, Softcap) {
  const auto r = attend(1, {3, 1, 1. / 3}, {.softcap = 2.0f});
  expect_rows(r.scaled, {{std::log(3), 0, -std::log(3)}}, "scaled");
  expect_rows(r.capped, {{1, 0, -1}}, "capped");
  expect_rows(r.biased, {{1, 0, -1}}, "biased");
  const double sum = std::exp(1) + 1 + std::exp(-1);
  expect_rows(r.p, {{std::exp(1) / sum, 1 / sum, std::exp(-1) / sum}}, "p");
  expect_rows(attend(1, {9, 1}, {.scale = 0.5f, .softcap = 2.0f}).capped, {{1, 0}}, "scaled first");
  expect_rows(attend(1, {3, 1}).capped, {{std::log(3), 0}}, "no cap");
}

// A bias of log(2) counts a key twice. It is added unscaled and after the cap.
TEST(Tables, Bias) {
  const double twice[] = {std::log(2), 0, 0};
  expect_rows(attend(1, {1, 2, 3}, {.bias = scores(twice, 1, 1, 1, 3)}).p,
              {{2. / 7, 2. / 7, 3. / 7}}, "p");
  const auto capped = attend(1, {3, 1, 1}, {.softcap = 2.0f, .bias = scores(twice, 1, 1, 1, 3)});
  expect_rows(capped.capped, {{1, 0, 0}}, "capped");
  expect_rows(capped.biased, {{1 + std::log(2), 0, 0}}, "biased");
  const auto scaled = attend(1, {1, 1, 9}, {.scale = 0.5f, .bias = scores(twice, 1, 1, 1, 3)});
  expect_rows(scaled.p, {{2. / 6, 1. / 6, 3. / 6}}, "p");
}

// One bias for all, or one per sequence, per query, per key; and one read backwards.
TEST(Tables, BiasBroadcastsAlongAnyAxis) {
  const double b[] = {std::log(1), std::log(2), std::log(4)};
  const auto weights = [&](ScoreView view) { return attend(2, {1, 1, 1}, {.bias = view}, 2); };
  const Rows even = {{1. / 3, 1. / 3, 1. / 3}, {1. / 3, 1. / 3, 1. / 3}};
  const Rows by_key = {{1. / 7, 2. / 7, 4. / 7}, {1. / 7, 2. / 7, 4. / 7}};
  expect_rows(weights(scores(b, 1, 1, 1, 3)).p, by_key, "per key", 1);
  expect_rows(weights(scores(b, 1, 1, 2, 1)).p, even, "per query");
  expect_rows(weights(scores(b, 1, 1, 2, 1)).lse, {{std::log(3)}, {std::log(6)}}, "per query");
  expect_rows(weights(scores(b, 2, 1, 1, 1)).lse, {{std::log(3)}, {std::log(3)}}, "sequence 0", 0);
  expect_rows(weights(scores(b, 2, 1, 1, 1)).lse, {{std::log(6)}, {std::log(6)}}, "sequence 1", 1);
  expect_rows(weights(scores(b + 2, 1, 1, 1, 1)).lse, {{std::log(12)}, {std::log(12)}}, "one");
  ScoreView backwards = scores(b + 2, 1, 1, 1, 3);
  backwards.strides = {99, 99, 99, -1};  // strides of broadcast axes are not used
  expect_rows(weights(backwards).p, {{4. / 7, 2. / 7, 1. / 7}, {4. / 7, 2. / 7, 1. / 7}},
              "backwards");
}

// 0.5 and -0.25 are exact in every type.
TEST(Tables, BiasOfEveryType) {
  const f16 half[] = {to_f16(0.5f), to_f16(-0.25f)};
  const bf16 brain[] = {to_bf16(0.5f), to_bf16(-0.25f)};
  const float single[] = {0.5f, -0.25f};
  for (const ScoreView& bias :
       {scores(half, 1, 1, 1, 2), scores(brain, 1, 1, 1, 2), scores(single, 1, 1, 1, 2)})
    EXPECT_EQ(attend(1, {1, 1}, {.bias = bias}).biased.values, (Values{0.5, -0.25}));
}

// -slope * |i + offset - j| for two heads, from scores of 0.
TEST(Tables, Alibi) {
  const double zero[6] = {};
  const float slopes[] = {0.5f, 0.25f};
  const auto run = [&](AttentionOptions options, std::size_t n_q, std::size_t n_k) {
    options.alibi_slopes = slopes;
    return attention<double>(bhnd(zero, 1, 2, n_q, 1), bhnd(zero, 1, 2, n_k, 1),
                             bhnd(zero, 1, 2, n_k, 1), options)
        .biased;
  };
  const auto square = run({}, 3, 3);
  expect_rows(square, {{0, -0.5, -1}, {-0.5, 0, -0.5}, {-1, -0.5, 0}}, "head 0", 0, 0);
  expect_rows(square, {{0, -0.25, -0.5}, {-0.25, 0, -0.25}, {-0.5, -0.25, 0}}, "head 1", 0, 1);
  // The last query stands at the last key.
  expect_rows(run({.causal = Causal::lower_right}, 2, 3), {{-0.5, 0, -0.5}, {-1, -0.5, 0}},
              "lower right");
  expect_rows(run({.query_offset = -2}, 1, 3), {{-1, -1.5, -2}}, "before the keys");
}

TEST(Tables, AlibiTakesAnyOffset) {
  const double one[] = {1};
  const float slope[] = {1.0f};
  const auto view = bhnd(one, 1, 1, 1, 1);
  const auto r = attention<double>(
      view, view, view,
      {.query_offset = std::numeric_limits<std::int64_t>::min(), .alibi_slopes = slope});
  EXPECT_EQ(r.biased.values, Values{-0x1p63});
  EXPECT_EQ(r.o.values, Values{1});
}

// exp(sink) joins the sum and takes its share: log(1) beside 1 2 3 leaves 6/7.
TEST(Tables, Sink) {
  const float sink[] = {0.0f};
  const auto r = attend(1, {1, 2, 3}, {.sinks = sink});
  expect_rows(r.p, {{1. / 7, 2. / 7, 3. / 7}}, "p");
  expect_rows(r.o, {{14. / 7, 140. / 7}}, "o");
  expect_rows(r.lse, {{std::log(7)}}, "lse");
  const float none[] = {-std::numeric_limits<float>::infinity()};
  expect_rows(attend(1, {1, 2, 3}, {.sinks = none}).p, {{1. / 6, 2. / 6, 3. / 6}}, "no sink");
  const float large[] = {88.0f};  // above every score: it is the maximum that is taken out
  expect_rows(attend(1, {1}, {.sinks = large}).p, {{1 / (1 + std::exp(88))}}, "large");
}

// Every entry is told where it is: batch 1, head 2, query i, key j.
TEST(Tables, ScoreModSeesItsCoordinates) {
  const double zero[2 * 3 * 2] = {};
  const auto where = [](const auto& tile) {
    for (std::size_t i = 0; i < tile.rows; ++i)
      for (std::size_t j = 0; j < tile.cols; ++j)
        tile.s[i * tile.stride + j] += static_cast<double>(1000 * tile.batch + 100 * tile.head +
                                                           10 * (tile.query + i) + tile.key + j);
  };
  const auto view = bhnd(zero, 2, 3, 2, 1);
  const auto r = attention<double>(view, view, view, {.score_mod = score_mod(where)});
  expect_rows(r.biased, {{0, 1}, {10, 11}}, "first", 0, 0);
  expect_rows(r.biased, {{1200, 1201}, {1210, 1211}}, "last", 1, 2);
}

// It comes after the bias, and the reference calls the double version where there is one.
TEST(Tables, ScoreModComesLast) {
  const double bias[] = {1, 2};
  const auto twice = [](const auto& tile) {
    for (std::size_t j = 0; j < tile.cols; ++j) tile.s[j] *= 2;
  };
  AttentionOptions options = {.bias = scores(bias, 1, 1, 1, 2), .score_mod = score_mod(twice)};
  EXPECT_EQ(attend(1, {1, 1}, options).biased.values, (Values{2, 4}));
  const auto third = [](const auto& tile) {
    tile.s[0] = 1;
    tile.s[0] /= 3;
  };
  options.score_mod = score_mod(third);
  EXPECT_EQ(attend(1, {1, 1}, options).biased.values[0], 1.0 / 3);
  const auto single = [](const ScoreTile<float>& tile) {
    tile.s[0] = 1;
    tile.s[0] /= 3;
  };
  options.score_mod = score_mod(single);
  EXPECT_EQ(attend(1, {1, 1}, options).biased.values[0], static_cast<double>(1.0f / 3));
}

// On no scores at all it is not called.
TEST(Tables, ScoreModWithNothingToDo) {
  bool called = false;
  const auto mod = [&](const auto&) { called = true; };
  attend(2, {}, {.score_mod = score_mod(mod)});
  attend(0, {1, 2}, {.score_mod = score_mod(mod)});
  EXPECT_FALSE(called);
}

TEST(Tables, CausalUpperLeft) {
  const AttentionOptions causal = {.causal = Causal::upper_left};
  expect_rows(attend(3, {1, 2, 3}, causal).p,
              {{1, 0, 0}, {1. / 3, 2. / 3, 0}, {1. / 6, 2. / 6, 3. / 6}}, "square");
  expect_rows(attend(2, {1, 2, 3, 4}, causal).p, {{1, 0, 0, 0}, {1. / 3, 2. / 3, 0, 0}}, "wide");
  expect_rows(attend(3, {1, 3}, causal).p, {{1, 0}, {1. / 4, 3. / 4}, {1. / 4, 3. / 4}}, "tall");
}

TEST(Tables, CausalLowerRight) {
  const AttentionOptions causal = {.causal = Causal::lower_right};
  expect_rows(attend(3, {1, 2, 3}, causal).p,
              {{1, 0, 0}, {1. / 3, 2. / 3, 0}, {1. / 6, 2. / 6, 3. / 6}}, "square");
  expect_rows(attend(2, {1, 2, 3, 4}, causal).p, {{1. / 6, 2. / 6, 3. / 6, 0}, {.1, .2, .3, .4}},
              "wide");
  const auto tall = attend(3, {1, 3}, causal);  // query 0 stands before the keys
  expect_rows(tall.p, {{0, 0}, {1, 0}, {1. / 4, 3. / 4}}, "tall");
  expect_rows(tall.lse, {{-kInf}, {0}, {std::log(4)}}, "tall");
  expect_rows(tall.o, {{0, 0}, {1, 10}, {7. / 4, 70. / 4}}, "tall");
}

TEST(Tables, QueryOffset) {
  expect_rows(attend(2, {1, 2, 3, 4}, {.causal = Causal::upper_left, .query_offset = 1}).p,
              {{1. / 3, 2. / 3, 0, 0}, {1. / 6, 2. / 6, 3. / 6, 0}}, "one");
  // A stated offset is stronger than the alignment's own.
  expect_rows(attend(1, {1, 2, 3, 4}, {.causal = Causal::lower_right, .query_offset = 0}).p,
              {{1, 0, 0, 0}}, "stated");
  const std::int64_t offsets[] = {-1, 2};
  const auto r =
      attend(2, {1, 2, 3, 4}, {.causal = Causal::upper_left, .query_offsets = offsets}, 2);
  expect_rows(r.p, {{0, 0, 0, 0}, {1, 0, 0, 0}}, "sequence 0", 0);
  expect_rows(r.p, {{1. / 6, 2. / 6, 3. / 6, 0}, {.1, .2, .3, .4}}, "sequence 1", 1);
  // Alone it moves queries, and hides nothing.
  expect_rows(attend(1, {1, 2, 3, 4}, {.query_offset = -9}).p, {{.1, .2, .3, .4}}, "alone");
}

TEST(Tables, Windows) {
  const Values w = {1, 2, 3, 4};
  expect_rows(attend(4, w, {.window_left = 1, .window_right = 1}).p,
              {{1. / 3, 2. / 3, 0, 0},
               {1. / 6, 2. / 6, 3. / 6, 0},
               {0, 2. / 9, 3. / 9, 4. / 9},
               {0, 0, 3. / 7, 4. / 7}},
              "both");
  expect_rows(attend(4, w, {.window_left = 0, .window_right = 0}).p,
              {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, "diagonal");
  expect_rows(
      attend(4, w, {.window_left = 1}).p,
      {{.1, .2, .3, .4}, {.1, .2, .3, .4}, {0, 2. / 9, 3. / 9, 4. / 9}, {0, 0, 3. / 7, 4. / 7}},
      "left");
  expect_rows(attend(2, w, {.query_offset = 0, .window_right = 1}).p,
              {{1. / 3, 2. / 3, 0, 0}, {1. / 6, 2. / 6, 3. / 6, 0}}, "right");
  expect_rows(attend(2, w, {.causal = Causal::lower_right, .window_left = 1}).p,
              {{0, 2. / 5, 3. / 5, 0}, {0, 0, 3. / 7, 4. / 7}}, "causal");
  expect_rows(attend(2, w, {.causal = Causal::upper_left, .window_right = 3}).p,
              {{1, 0, 0, 0}, {1. / 3, 2. / 3, 0, 0}}, "causal is stronger than window_right");
}

TEST(Tables, KeyLengths) {
  const std::int64_t lengths[] = {2, 0, 3};
  const auto r = attend(1, {1, 2, 3}, {.key_lengths = lengths}, 3);
  expect_rows(r.p, {{1. / 3, 2. / 3, 0}}, "two", 0);
  expect_rows(r.p, {{0, 0, 0}}, "none", 1);
  expect_rows(r.o, {{0, 0}}, "none", 1);
  expect_rows(r.lse, {{-kInf}}, "none", 1);
  expect_rows(r.p, {{1. / 6, 2. / 6, 3. / 6}}, "all", 2);
  // Lower right means right of the sequence's own last key: offset 3 - 2.
  const std::int64_t three[] = {3};
  expect_rows(attend(2, {1, 2, 3, 4}, {.causal = Causal::lower_right, .key_lengths = three}).p,
              {{1. / 3, 2. / 3, 0, 0}, {1. / 6, 2. / 6, 3. / 6, 0}}, "causal");
}

TEST(Tables, Mask) {
  const bool mask[] = {true, false, true, false, false, false};
  const auto r = attend(2, {1, 2, 3}, {.mask = scores(mask, 1, 1, 2, 3)});
  expect_rows(r.p, {{1. / 4, 0, 3. / 4}, {0, 0, 0}}, "p");
  expect_rows(r.o, {{10. / 4, 100. / 4}, {0, 0}}, "o");
  expect_rows(r.lse, {{std::log(4)}, {-kInf}}, "lse");
  EXPECT_EQ(r.visible.values, (std::vector<std::uint8_t>{1, 0, 1, 0, 0, 0}));
  const std::uint8_t bytes[] = {255, 0, 1};  // any byte but 0
  expect_rows(attend(1, {1, 2, 3}, {.mask = scores(bytes, 1, 1, 1, 3)}).p, {{1. / 4, 0, 3. / 4}},
              "bytes");
  // All that hides is and-ed.
  expect_rows(
      attend(2, {1, 2, 3}, {.causal = Causal::lower_right, .mask = scores(mask, 1, 1, 1, 3)}).p,
      {{1, 0, 0}, {1. / 4, 0, 3. / 4}}, "causal and mask");
}

// Four query heads on two key/value heads: with one key, o is the v of the head's group.
TEST(Tables, GroupedHeads) {
  const double q[] = {1, 2, 3, 4}, k[] = {10, 20}, v[] = {7, 8};
  const auto grouped =
      attention<double>(bhnd(q, 1, 4, 1, 1), bhnd(k, 1, 2, 1, 1), bhnd(v, 1, 2, 1, 1));
  EXPECT_EQ(grouped.raw.values, (Values{10, 20, 60, 80}));
  EXPECT_EQ(grouped.o.values, (Values{7, 7, 8, 8}));
  const auto one = attention<double>(bhnd(q, 1, 4, 1, 1), bhnd(k, 1, 1, 1, 1), bhnd(v, 1, 1, 1, 1));
  EXPECT_EQ(one.o.values, (Values{7, 7, 7, 7}));
}

// Sequences of 1 and 2 queries on 2 and 1 keys; each sees its own keys only, shorter ones are
// padded with 0.
TEST(Tables, Ragged) {
  const double q[] = {1, 1, 1}, v[] = {1, 2, 3};
  const double k[] = {std::log(1), std::log(3), std::log(5)};
  const std::int64_t cu_q[] = {0, 1, 3}, cu_k[] = {0, 2, 3};
  const auto r = attention<double>(bhnd(q, 1, 1, 3, 1), bhnd(k, 1, 1, 3, 1), bhnd(v, 1, 1, 3, 1),
                                   {.cu_seqlens_q = cu_q, .cu_seqlens_k = cu_k});
  expect_rows(r.p, {{1. / 4, 3. / 4}, {0, 0}}, "sequence 0", 0);
  expect_rows(r.o, {{7. / 4}, {0}}, "sequence 0", 0);
  expect_rows(r.p, {{1, 0}, {1, 0}}, "sequence 1", 1);
  expect_rows(r.o, {{3}, {3}}, "sequence 1", 1);
  expect_rows(r.lse, {{std::log(5)}, {std::log(5)}}, "sequence 1", 1);
}

// [batch 1, tokens 2, heads 2, dim 1] read in place, and keys read last to first.
TEST(Tables, Strides) {
  const double interleaved[] = {1, 2, 3, 4};
  const auto view = bnhd(interleaved, 1, 2, 2, 1);  // head 0: 1 3, head 1: 2 4
  const auto r = attention<double>(view, view, view, {.scale = 1.0f});
  EXPECT_EQ(r.raw.values, (Values{1, 3, 3, 9, 4, 8, 8, 16}));
  ConstTensorView backwards = bhnd(interleaved, 1, 1, 4, 1);
  backwards.data = interleaved + 3;
  backwards.token_stride = -1;
  const auto q = bhnd(interleaved, 1, 1, 1, 1);
  EXPECT_EQ(attention<double>(q, backwards, backwards).raw.values, (Values{4, 3, 2, 1}));
}

TEST(Tables, EveryTypeIsReadExactly) {
  const f16 q[] = {to_f16(0.5f), to_f16(-3.0f)};
  const bf16 k[] = {to_bf16(0.125f), to_bf16(2.0f)};
  const float v[] = {0.1f};
  const auto r = attention<double>(bhnd(q, 1, 1, 1, 2), bhnd(k, 1, 1, 1, 2), bhnd(v, 1, 1, 1, 1));
  EXPECT_EQ(r.raw.values, Values{0.0625 - 6});
  EXPECT_EQ(r.o.values, Values{static_cast<double>(0.1f)});
}

TEST(Tables, NothingInNothingOut) {
  const auto no_keys = attend(2, {});
  expect_rows(no_keys.o, {{0, 0}, {0, 0}}, "no keys");
  expect_rows(no_keys.lse, {{-kInf}, {-kInf}}, "no keys");
  EXPECT_TRUE(attend(0, {1, 2}).o.values.empty());
  EXPECT_TRUE(attend(2, {1, 2}, {}, 0).o.values.empty());
}

// In float: 1 + 2^-24 is 1, so sums in index order lose both small terms, and 1/3 is rounded.
TEST(PlainFloat, RoundsEveryOperationToFloat) {
  const float q[] = {1, 0x1p-12f, 0x1p-12f}, k[] = {1, 0x1p-12f, 0x1p-12f}, v[] = {1, 2, 4};
  const auto dot = attention<float>(bhnd(q, 1, 1, 1, 3), bhnd(k, 1, 1, 1, 3), bhnd(v, 1, 1, 1, 3));
  EXPECT_EQ(dot.raw.values, std::vector<float>{1});
  EXPECT_EQ(dot.scaled.values, std::vector<float>{static_cast<float>(1 / std::sqrt(3.0))});
  const float zero[] = {0, 0, 0};
  const auto third =
      attention<float>(bhnd(zero, 1, 1, 1, 1), bhnd(zero, 1, 1, 3, 1), bhnd(v, 1, 1, 3, 1));
  const float p = 1.0f / 3;
  EXPECT_EQ(third.p.values, (std::vector<float>{p, p, p}));
  EXPECT_EQ(third.o.values, std::vector<float>{(p + p * 2) + p * 4});
  EXPECT_EQ(third.lse.values, std::vector<float>{std::log(3.0f)});
}

TEST(PlainFloat, HasEveryOption) {
  const float one[] = {1, 1, 1, 1}, slope[] = {0.5f}, sink[] = {1.0f}, bias[] = {0.25f};
  const auto view = bhnd(one, 1, 1, 4, 1);
  const auto half = [](const auto& tile) { tile.s[0] /= 2; };
  const auto r = attention<float>(view, view, view,
                                  {.softcap = 2.0f,
                                   .causal = Causal::upper_left,
                                   .window_left = 1,
                                   .bias = scores(bias, 1, 1, 1, 1),
                                   .alibi_slopes = slope,
                                   .sinks = sink,
                                   .score_mod = score_mod(half)});
  const float s = 2 * std::tanh(0.5f) + 0.25f;
  EXPECT_FLOAT_EQ(r.biased.values[0], s / 2);
  EXPECT_FLOAT_EQ(r.biased.values[2], s - 1);
  EXPECT_FLOAT_EQ(r.p.values[0], std::exp(s / 2) / (std::exp(s / 2) + std::exp(1.0f)));
  EXPECT_EQ(r.visible.values,
            (std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1}));
}

TEST(Errors, ComeBeforeAnythingIsComputed) {
  const double one[] = {1};
  ConstTensorView q = bhnd(one, 1, 1, 1, 1);
  const ConstTensorView k = q;
  q.data = nullptr;
  EXPECT_THROW(attention<double>(q, k, k), Error);
  ConstTensorView many = k;  // n_q x n_k scores that no memory holds, of one element read again
  many.tokens = std::size_t{1} << 40;
  many.token_stride = 0;
  EXPECT_THROW(attention<double>(many, many, many), Error);
  EXPECT_THROW((selfish_attention<double, double>(one, one, 1, 1, 0)), Error);
}

}  // namespace
}  // namespace heed::reference
