// Prefill: how exact, and what becomes of numbers that are not finite.
#include <gtest/gtest.h>

#include <array>

#include "kernels/case_test.h"

namespace heed {
namespace {

using test::Case;
using test::Errors;
using test::errors;
using test::expect_exact;
using test::for_each_adversarial_key;
using test::for_each_target;
using test::kInf;
using test::kNaN;
using test::Random;
using test::set_keys;

TEST(PrefillAccuracy, AdversarialScores) {
  for_each_target([](const std::string&) {
    Random random(1);
    for_each_adversarial_key(random, [&](auto&& key) {
      Case c;
      c.query_heads = 3;
      c.n_q = 17;
      c.n_k = 1100;
      c.d_k = 8;
      c.d_v = 12;
      c.make(random);
      set_keys(c, key);
      c.run();
      expect_exact(c);
    });
  });
}

TEST(PrefillAccuracy, LongSequences) {
  for_each_target([](const std::string&) {
    Random random(2);
    Case c;
    c.n_q = 6;
    c.n_k = 65536;
    c.d_k = c.d_v = 8;
    c.make(random);
    c.run();
    expect_exact(c);
  });
}

// Values between 1 and 2, so that an error of one sign would show. The errors of a row are related
// through its sum, so its mean counts as one: 5 deviations of the mean over all rows are allowed.
TEST(PrefillAccuracy, ErrorsHaveNoSign) {
  for_each_target([](const std::string&) {
    Random random(3);
    Case c;
    c.query_heads = 4;
    c.n_q = 300;
    c.n_k = 1000;
    c.d_k = 16;
    c.d_v = 8;
    c.make(random);
    c.v.fill([&] { return 1 + static_cast<float>(random.uniform()); });
    c.run();
    const auto truth = c.oracle<double>();
    const Errors e = errors(c, truth.o, [&](auto n, auto h, auto i, auto x) {
      return static_cast<double>(c.out_at(n, h, i, x));
    });
    const double rows = static_cast<double>(c.query_heads * c.n_q);
    EXPECT_LE(std::abs(e.signed_mean), 5 * e.mean / std::sqrt(rows));
  });
}

// --- Not numbers --------------------------------------------------------------------------------

// Two heads of 21 queries over 600 keys of 20 numbers.
void make_small(Random& random, Case& c) {
  c.query_heads = 2;
  c.n_q = 21;
  c.n_k = 600;
  c.d_k = c.d_v = 20;
  c.make(random);
}

void set_key_and_value(Case& c, std::size_t j, float x) {
  for (std::size_t d = 0; d < c.d_k; ++d) c.k.set(0, 0, j, d, x);
  for (std::size_t d = 0; d < c.d_v; ++d) c.v.set(0, 0, j, d, x);
}

enum class Hider { mask, bias, score_mod, causal, length };

TEST(PrefillNotNumbers, HiddenKeysNeverLeak) {
  constexpr std::size_t kHidden = 590;
  const auto hide = [](const auto& tile) {
    if (tile.key > kHidden || tile.key + tile.cols <= kHidden) return;
    for (std::size_t r = 0; r < tile.rows; ++r)
      tile.s[r * tile.stride + kHidden - tile.key] =
          -std::numeric_limits<std::remove_reference_t<decltype(*tile.s)>>::infinity();
  };
  for_each_target([&](const std::string&) {
    for (const float bad : {kNaN, kInf, -kInf})
      for (const Hider how :
           {Hider::mask, Hider::bias, Hider::score_mod, Hider::causal, Hider::length}) {
        Random random(4);
        Case c;
        make_small(random, c);
        set_key_and_value(c, kHidden, bad);
        c.mask.assign(600, 1);
        c.bias.assign(600, 0.0f);
        c.lengths = {kHidden};
        c.mask[kHidden] = 0;
        c.bias[kHidden] = -kInf;
        if (how == Hider::mask) c.options.mask = scores(c.mask.data(), 1, 1, 1, 600);
        if (how == Hider::bias) c.options.bias = scores(c.bias.data(), 1, 1, 1, 600);
        if (how == Hider::score_mod) c.options.score_mod = score_mod(hide);
        if (how == Hider::causal) c.options.causal = Causal::lower_right;
        if (how == Hider::length) c.options.key_lengths = c.lengths;
        c.run();
        expect_exact(c);
        for (std::size_t i = 0; i < c.n_q; ++i) {
          const bool sees = how == Hider::causal && i + 600 - 21 >= kHidden;
          EXPECT_EQ(std::isfinite(c.out_at(0, 1, i, 5)), !sees)
              << static_cast<int>(how) << " " << bad << " row " << i;
        }
      }
  });
}

TEST(PrefillNotNumbers, VisibleOnesPropagate) {
  for_each_target([](const std::string&) {
    for (const std::size_t j : {0, 123, 599}) {
      Random random(5);
      Case in_key, in_value, in_query;
      make_small(random, in_key);
      make_small(random, in_value);
      make_small(random, in_query);
      in_key.k.set(0, 0, j, 3, kNaN);
      in_value.v.set(0, 0, j, 3, kNaN);
      in_query.q.set(0, 1, 7, 19, kNaN);
      in_key.run();
      in_value.run();
      in_query.run();
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t i = 0; i < in_key.n_q; ++i)
          for (std::size_t x = 0; x < in_key.d_v; ++x) {
            EXPECT_TRUE(std::isnan(in_key.out_at(0, h, i, x)));
            EXPECT_EQ(std::isnan(in_value.out_at(0, h, i, x)), x == 3);
            EXPECT_EQ(std::isnan(in_query.out_at(0, h, i, x)), h == 1 && i == 7);
          }
    }
  });
}

TEST(PrefillNotNumbers, InfinityInAKeyTakesAllTheWeightOrNone) {
  for_each_target([](const std::string&) {
    for (const float infinite : {kInf, -kInf}) {
      Random random(6);
      Case c;
      make_small(random, c);
      c.k.set(0, 0, 300, 0, infinite);
      c.run();
      expect_exact(c);  // NaN where the score is infinity, as in the oracle; no weight otherwise
    }
  });
}

TEST(PrefillNotNumbers, RowsThatSeeNothingAreZero) {
  for_each_target([](const std::string&) {
    Random random(7);
    Case c;
    make_small(random, c);
    c.mask.assign(c.n_q * c.n_k, 1);
    for (const std::size_t i : {0, 6, 20})
      std::fill_n(c.mask.begin() + static_cast<std::ptrdiff_t>(i * c.n_k), c.n_k, std::uint8_t{0});
    c.options.mask = scores(c.mask.data(), 1, 1, c.n_q, c.n_k);
    c.run();
    expect_exact(c);
    EXPECT_EQ(c.out_at(0, 1, 6, 3), 0.0f);
    EXPECT_EQ(c.lse_at(0, 1, 6), -kInf);
    c.sinks = {1.0f, 2.0f};
    c.options.sinks = c.sinks;
    c.run();
    expect_exact(c);
    EXPECT_EQ(c.out_at(0, 1, 20, 3), 0.0f);
    EXPECT_EQ(c.lse_at(0, 1, 20), 2.0f);
  });
}

// All its scores are -infinity by arithmetic: it sees them, so that it is NaN and not 0.
TEST(PrefillNotNumbers, RowsOfMinusInfinityAreNan) {
  for_each_target([](const std::string&) {
    Random random(8);
    Case c;
    make_small(random, c);
    for (std::size_t j = 0; j < c.n_k; ++j) c.k.set(0, 0, j, 0, -kInf);
    for (std::size_t i = 0; i < c.n_q; ++i) c.q.set(0, 0, i, 0, 1.0f);
    c.run();
    expect_exact(c);
    EXPECT_TRUE(std::isnan(c.out_at(0, 0, 4, 0)));
    c.k.set(0, 0, 400, 0, 0.5f);  // one finite score takes all the weight
    c.run();
    expect_exact(c);
    EXPECT_EQ(c.out_at(0, 0, 4, 0), c.v.get(0, 0, 400, 0));
  });
}

// What score_mod finds at -infinity it has not hidden: it weighs 0, and 0 times infinity is NaN.
TEST(PrefillNotNumbers, ScoreModHidesOnlyWhatItMakesMinusInfinity) {
  const auto keep = [](const auto&) {};
  const auto lower = [](const auto& tile) {
    using T = std::remove_reference_t<decltype(*tile.s)>;
    for (std::size_t r = 0; r < tile.rows; ++r)
      for (std::size_t x = 0; x < tile.cols; ++x)
        if (tile.s[r * tile.stride + x] < T{-1}) tile.s[r * tile.stride + x] = -test::kInf;
  };
  for_each_target([&](const std::string&) {
    for (const int mod : {0, 1})
      for (const bool capped : {false, true})
        for (const bool all : {false, true}) {
          Random random(9);
          Case c;
          make_small(random, c);
          for (std::size_t i = 0; i < c.n_q; ++i) c.q.set(0, 0, i, 0, i % 2 == 0 ? 1.0f : -1.0f);
          for (std::size_t j = 0; j < c.n_k; ++j)
            if (all || j == 77) c.k.set(0, 0, j, 0, -kInf);
          for (const std::size_t x : {2, 5}) c.v.set(0, 0, 77, x, kInf);
          c.bias.assign(600, 0.5f);
          c.options.bias = scores(c.bias.data(), 1, 1, 1, 600);
          if (capped) c.options.softcap = 4.0;
          c.options.score_mod = mod == 0 ? score_mod(keep) : score_mod(lower);
          c.run();
          expect_exact(c);
          ASSERT_FALSE(testing::Test::HasFailure()) << mod << capped << all;
        }
  });
}

}  // namespace
}  // namespace heed
