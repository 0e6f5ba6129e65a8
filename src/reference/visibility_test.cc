// Who is seen decides, never how large a score is; and nothing leaks from what is hidden.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "heed/reference.h"
#include "reference/test_tables.h"

namespace heed::reference {
namespace {

// Three keys of weights 1 2 3 and values 1 2 3; entries of k and v can be spoilt.
struct Head {
  Values q = {1, 1, 1};
  Values k = {std::log(1), std::log(2), std::log(3)};
  Values v = {1, 2, 3};

  Attention<double> run(std::size_t n_q, AttentionOptions options = {}) const {
    options.scale = options.scale.value_or(1.0f);
    return attention<double>(bhnd(q.data(), 1, 1, n_q, 1), bhnd(k.data(), 1, 1, 3, 1),
                             bhnd(v.data(), 1, 1, 3, 1), options);
  }
};

const double kHideLast[] = {0, 0, -kInf};
const bool kMaskLast[] = {true, true, false};
const std::int64_t kTwoKeys[] = {2};

// Every way to hide the last key from the first query.
std::vector<AttentionOptions> ways_to_hide_the_last_key() {
  static const auto hide = [](const auto& tile) {
    for (std::size_t i = 0; i < tile.rows; ++i) tile.s[i * tile.stride + 2] = -kInf;
  };
  return {{.causal = Causal::upper_left, .query_offset = 1},
          {.query_offset = 0, .window_right = 1},
          {.mask = scores(kMaskLast, 1, 1, 1, 3)},
          {.bias = scores(kHideLast, 1, 1, 1, 3)},
          {.key_lengths = kTwoKeys},
          {.score_mod = score_mod(hide)}};
}

TEST(Visibility, NothingLeaksFromAHiddenKeyOrValue) {
  for (const AttentionOptions& options : ways_to_hide_the_last_key())
    for (const double poison : {kNan, kInf, -kInf}) {
      Head head;
      // What score_mod finds at -infinity already, it does not turn into it.
      head.k[2] = options.score_mod && poison == -kInf ? 1 : poison;
      head.v[2] = poison;
      const auto r = head.run(1, options);
      expect_rows(r.p, {{1. / 3, 2. / 3, 0}}, "p");
      expect_rows(r.o, {{5. / 3}}, "o");
      expect_rows(r.lse, {{std::log(3)}}, "lse");
      EXPECT_EQ(r.visible.values, (std::vector<std::uint8_t>{1, 1, 0}));
    }
}

TEST(Visibility, NanInAVisibleKeyTakesTheRow) {
  Head head;
  head.k[1] = kNan;
  const auto r = head.run(1);
  expect_rows(r.p, {{kNan, kNan, kNan}}, "p");
  expect_rows(r.o, {{kNan}}, "o");
  expect_rows(r.lse, {{kNan}}, "lse");
  // Rows that do not see it are whole.
  const auto causal = head.run(3, {.causal = Causal::upper_left});
  expect_rows(causal.o, {{1}, {kNan}, {kNan}}, "causal");
}

TEST(Visibility, NanInAVisibleValueTakesTheOutput) {
  Head head;
  head.v[2] = kNan;
  expect_rows(head.run(1).p, {{1. / 6, 2. / 6, 3. / 6}}, "p");
  expect_rows(head.run(1).o, {{kNan}}, "o");
  head.k[2] = -1e6;  // its weight underflows to 0, and it is visible all the same
  expect_rows(head.run(1).p, {{1. / 3, 2. / 3, 0}}, "p");
  expect_rows(head.run(1).o, {{kNan}}, "o");
}

TEST(Visibility, NanInAQueryTakesItsRowUnlessItSeesNothing) {
  Head head;
  head.q[0] = kNan;
  expect_rows(head.run(2).o, {{kNan}, {14. / 6}}, "o");
  const bool none[] = {false};
  expect_rows(head.run(2, {.mask = scores(none, 1, 1, 1, 1)}).o, {{0}, {0}}, "hidden");
}

TEST(Visibility, InfiniteScores) {
  Head head;
  head.k[2] = kInf;  // exp(inf - inf)
  expect_rows(head.run(1).p, {{kNan, kNan, kNan}}, "inf");
  head.k[2] = -kInf;  // weighs 0 beside finite ones
  expect_rows(head.run(1).p, {{1. / 3, 2. / 3, 0}}, "-inf");
  EXPECT_EQ(head.run(1).visible.values, (std::vector<std::uint8_t>{1, 1, 1}));
  head.k = {-kInf, -kInf, -kInf};  // visible, so this row is not an empty one
  expect_rows(head.run(1).p, {{kNan, kNan, kNan}}, "all -inf");
  expect_rows(head.run(1).lse, {{kNan}}, "all -inf");
  const float sink[] = {0};  // a finite term in the sum again
  expect_rows(head.run(1, {.sinks = sink}).p, {{0, 0, 0}}, "all -inf and a sink");
}

TEST(Visibility, AScoreModThatLeavesMinusInfinityHidesNothing) {
  Head head;
  head.k = {-kInf, -kInf, -kInf};
  const auto leave = [](const auto&) {};
  const auto r = head.run(1, {.score_mod = score_mod(leave)});
  EXPECT_EQ(r.visible.values, (std::vector<std::uint8_t>{1, 1, 1}));
  expect_rows(r.o, {{kNan}}, "o");
}

TEST(Visibility, OverflowIsNotHiding) {
  Head head;
  head.q = {1e200, 1e200, 1e200};
  head.k = {-1e200, -1e200, -1e200};  // q.k = -inf by arithmetic
  expect_rows(head.run(1).o, {{kNan}}, "overflow");
  head.q = {1, 1, 1};
  head.k = {-1e300, -1e300, -1e300};  // far down, equal, visible
  expect_rows(head.run(1).p, {{1. / 3, 1. / 3, 1. / 3}}, "far down");
  expect_rows(head.run(1).lse, {{-1e300}}, "far down");
  head.k = {1e308, 1e308, -1e308};  // exp alone would overflow
  expect_rows(head.run(1).p, {{.5, .5, 0}}, "far up");
}

// A finite "minus a lot" is a number like any other; only -infinity hides.
TEST(Visibility, ALargeNegativeBiasDoesNotHide) {
  const double low[] = {-1e30, -1e30, -1e30}, hidden[] = {-kInf};
  expect_rows(Head().run(1, {.bias = scores(low, 1, 1, 1, 3)}).p, {{1. / 3, 1. / 3, 1. / 3}},
              "low");
  expect_rows(Head().run(1, {.bias = scores(hidden, 1, 1, 1, 1)}).p, {{0, 0, 0}}, "hidden");
  // In float a double bias of -1e300 overflows: by arithmetic, hence visible.
  const double lower[] = {0, -1e300, -kInf};
  const float one[] = {1, 1, 1};
  const auto r = attention<float>(bhnd(one, 1, 1, 1, 1), bhnd(one, 1, 1, 3, 1),
                                  bhnd(one, 1, 1, 3, 1), {.bias = scores(lower, 1, 1, 1, 3)});
  EXPECT_EQ(r.visible.values, (std::vector<std::uint8_t>{1, 1, 0}));
  EXPECT_EQ(r.p.values, (std::vector<float>{1, 0, 0}));
}

TEST(Visibility, AnEmptyRowWithASink) {
  const bool none[] = {false};
  const float sink[] = {2.5f};
  const auto r = Head().run(1, {.mask = scores(none, 1, 1, 1, 1), .sinks = sink});
  expect_rows(r.p, {{0, 0, 0}}, "p");
  expect_rows(r.o, {{0}}, "o");
  expect_rows(r.lse, {{2.5}}, "lse");
}

}  // namespace
}  // namespace heed::reference
