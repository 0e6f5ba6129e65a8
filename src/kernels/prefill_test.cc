// Prefill: many queries, against the oracle, and the same bits however the work is shared.
#include "kernels/prefill.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "base/threads.h"
#include "kernels/random_case_test.h"

namespace heed {
namespace {

using test::bits;
using test::Case;
using test::expect_exact;
using test::for_each_target;
using test::kInf;
using test::kNaN;
using test::kStored;
using test::kStripes;
using test::make_random;
using test::Random;

void run_and_check(Case& c) {
  test::run_and_check(c, "prefill");
}

TEST(Prefill, EveryHeadDim) {
  for_each_target([](const std::string&) {
    Random random(1);
    std::vector<std::size_t> dims = {79, 80, 81, 96, 127, 128, 129, 192, 255, 256, 320, 511, 512};
    for (std::size_t dim = 1; dim <= 72; ++dim) dims.push_back(dim);
    for (const std::size_t dim : dims) {
      Case c;
      c.n_q = 8;
      c.n_k = 40;
      c.d_k = dim;
      c.d_v = random.chance(0.5) ? dim : 1 + random.below(dim + 20);
      c.options.causal = Causal::lower_right;
      c.make(random);
      run_and_check(c);
    }
  });
}

// Sizes on both sides of where a strip, a block of queries, a panel or a tile of keys ends.
TEST(Prefill, EdgesOfStripsBlocksPanelsAndTiles) {
  for_each_target([](const std::string&) {
    Random random(2);
    for (const std::size_t n_q : {5, 6, 7, 8, 11, 515, 517, 1034})
      for (const std::size_t n_k : {1, 16, 17, 511, 513, 1030})
        for (const bool causal : {false, true}) {
          Case c;
          c.n_q = n_q;
          c.n_k = n_k;
          c.d_k = 6;
          c.d_v = 10;
          if (causal) c.options.causal = Causal::lower_right;
          if (causal && n_q % 2 == 1) c.options.window_left = 300;
          c.make(random);
          run_and_check(c);
        }
  });
}

// A group of heads shares a block; large ones leave room for few queries.
TEST(Prefill, GroupsUpTo128) {
  for_each_target([](const std::string&) {
    Random random(3);
    for (const std::size_t group : {3, 24, 128}) {
      Case c;
      c.query_heads = 2 * group;
      c.kv_heads = 2;
      c.n_q = 33;
      c.n_k = 50;
      c.d_k = 20;
      c.d_v = 12;
      c.options.causal = Causal::lower_right;
      c.make(random);
      run_and_check(c);
    }
  });
}

// --- Options ------------------------------------------------------------------------------------

struct Rule {
  const char* name;
  std::function<void(Random&, Case&)> set;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"none", [](Random&, Case&) {}},
      {"upper_left", [](Random&, Case& c) { c.options.causal = Causal::upper_left; }},
      {"lower_right", [](Random&, Case& c) { c.options.causal = Causal::lower_right; }},
      {"window",
       [](Random&, Case& c) {
         c.options.query_offset = 3;
         c.options.window_left = 11;
         c.options.window_right = 6;
       }},
      {"lengths",
       [](Random&, Case& c) {
         c.lengths.assign(c.batch, 19);
         c.options.key_lengths = c.lengths;
       }},
      {"mask",
       [](Random& random, Case& c) {
         c.mask.resize(c.n_q * c.n_k);
         for (auto& x : c.mask) x = random.chance(0.6);
         c.options.mask = scores(c.mask.data(), 1, 1, c.n_q, c.n_k);
       }},
      {"bias",
       [](Random& random, Case& c) {
         c.bias.resize(c.query_heads * c.n_q * c.n_k);
         for (auto& x : c.bias) x = random.chance(0.2) ? -kInf : random.normal();
         c.options.bias = scores(c.bias.data(), 1, c.query_heads, c.n_q, c.n_k);
       }},
      {"alibi",
       [](Random&, Case& c) {
         c.slopes.assign(c.query_heads, 0.25f);
         c.options.query_offset = 14;
         c.options.alibi_slopes = c.slopes;
       }},
      {"softcap", [](Random&, Case& c) { c.options.softcap = 1.5; }},
      {"sinks",
       [](Random&, Case& c) {
         c.sinks.assign(c.query_heads, 0.5f);
         c.options.sinks = c.sinks;
       }},
      {"score_mod", [](Random&, Case& c) { c.options.score_mod = score_mod(kStripes); }},
  };
  return all;
}

// Every rule alone with every pair of types, every layout of heads, and both orders in memory.
TEST(Prefill, EveryRuleTypeAndLayout) {
  for_each_target([](const std::string&) {
    Random random(4);
    for (const Rule& rule : rules())
      for (const DType q : kStored)
        for (const DType kv : kStored)
          for (const auto& [query_heads, kv_heads] :
               {std::array<std::size_t, 2>{2, 2}, {6, 2}, {4, 1}})
            for (const bool tokens_first : {false, true}) {
              Case c;
              c.batch = 2;
              c.query_heads = query_heads;
              c.kv_heads = kv_heads;
              c.n_q = 13;
              c.n_k = 37;
              c.d_k = c.d_v = 16;
              c.q_type = q;
              c.kv_type = kv;
              c.tokens_first = tokens_first;
              c.make(random);
              rule.set(random, c);
              c.run();
              expect_exact(c);
              ASSERT_FALSE(testing::Test::HasFailure()) << rule.name;
            }
  });
}

// People write the lowest float to mean "hardly". It hides nothing: where there is nothing else,
// the row is the mean of what it sees.
TEST(Prefill, LowestBiasIsNotMinusInfinity) {
  for_each_target([](const std::string&) {
    Random random(5);
    Case c;
    c.n_q = 9;
    c.n_k = 20;
    c.d_k = c.d_v = 8;
    c.make(random, 0.01f);
    c.bias.assign(c.n_q * c.n_k, std::numeric_limits<float>::lowest());
    c.options.bias = scores(c.bias.data(), 1, 1, c.n_q, c.n_k);
    c.run();
    for (std::size_t i = 0; i < c.n_q; ++i)
      for (std::size_t x = 0; x < c.d_v; ++x) {
        double mean = 0;
        for (std::size_t j = 0; j < c.n_k; ++j) mean += c.v.get(0, 0, j, x) / 20.0;
        EXPECT_NEAR(c.out_at(0, 0, i, x), mean, 1e-8);  // 20 terms of 0.01, 2^-24 each
      }
  });
}

// Nor where hidden keys among them have a bias that is not a number, wherever in a group of vectors
// they come.
TEST(Prefill, NaNInTheBiasOfHiddenKeysChangesNothing) {
  for_each_target([](const std::string&) {
    for (const std::size_t at : {0, 8, 16, 24}) {
      Random random(12);
      Case c;
      c.n_q = 9;
      c.n_k = 128;
      c.d_k = c.d_v = 8;
      c.make(random);
      c.bias.assign(c.n_q * c.n_k, std::numeric_limits<float>::lowest());
      c.mask.assign(c.n_k, 1);
      for (std::size_t j = 0; j < c.n_k; ++j) c.mask[j] = j % 32 / 8 != at / 8;
      c.options.bias = scores(c.bias.data(), 1, 1, c.n_q, c.n_k);
      c.options.mask = scores(c.mask.data(), 1, 1, 1, c.n_k);
      c.run();
      const auto expected = bits(c);
      for (std::size_t n = 0; n < c.bias.size(); ++n)
        if (c.mask[n % c.n_k] == 0) c.bias[n] = std::numeric_limits<float>::quiet_NaN();
      c.run();
      EXPECT_EQ(bits(c), expected) << at;
    }
  });
}

// --- Sharing the work ---------------------------------------------------------------------------

TEST(Prefill, TheSameBitsForAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Case c;
    make_random(random, c, 60, 1100);
    c.run({.threads = 1});
    const auto expected = bits(c);
    for (const std::size_t threads : {2, 3, 8}) {
      c.run({.threads = threads});
      EXPECT_EQ(bits(c), expected) << c << " on " << threads << " threads";
    }
  }
}

// Large enough that threads are woken, on every target.
TEST(Prefill, ThreadsShareBlocksWithoutChangingABit) {
  if (thread_count(2) == 1) GTEST_SKIP() << "built without threads";
  for_each_target([](const std::string&) {
    Random random(6);
    Case c;
    c.query_heads = 4;
    c.kv_heads = 2;
    c.n_q = c.n_k = 700;
    c.d_k = c.d_v = 32;
    c.options.causal = Causal::lower_right;
    c.make(random);
    EXPECT_EQ(plan_of(c, 8).threads, std::min<std::size_t>(8, plan_of(c, 8).tasks));
    EXPECT_GT(plan_of(c, 8).threads, 1u);
    c.run({.threads = 1});
    const auto expected = bits(c);
    for (const std::size_t threads : {2, 3, 8}) {
      c.run({.threads = threads});
      EXPECT_EQ(bits(c), expected) << threads << " threads";
    }
  });
}

// A ragged batch against each of its sequences alone.
TEST(Prefill, TheSameBitsAloneAndInABatch) {
  for_each_target([](const std::string&) {
    Random random(7);
    Case c;
    c.query_heads = 4;
    c.kv_heads = 2;
    c.cu_q = {0, 7, 7 + 130, 7 + 130 + 601};
    c.cu_k = {0, 40, 40 + 530, 40 + 530 + 650};
    c.n_q = static_cast<std::size_t>(c.cu_q.back());
    c.n_k = static_cast<std::size_t>(c.cu_k.back());
    c.d_k = 24;
    c.d_v = 40;
    c.kv_type = DType::f16;
    c.options.cu_seqlens_q = c.cu_q;
    c.options.cu_seqlens_k = c.cu_k;
    c.options.causal = Causal::lower_right;
    c.options.window_left = 400;
    c.make(random);
    c.run();
    for (std::size_t n = 0; n < 3; ++n) {
      const auto part = [&](TensorView t, const std::vector<std::int64_t>& cu) {
        t.data = static_cast<char*>(t.data) +
                 cu[n] * t.token_stride * static_cast<std::ptrdiff_t>(size_of(t.dtype));
        t.tokens = static_cast<std::size_t>(cu[n + 1] - cu[n]);
        return t;
      };
      const std::size_t queries = c.queries(n);
      std::vector<float> alone(c.query_heads * queries * c.d_v);
      attention(part(c.q.view(), c.cu_q), part(c.k.view(), c.cu_k), part(c.v.view(), c.cu_k),
                bhnd(alone.data(), 1, c.query_heads, queries, c.d_v),
                {.causal = Causal::lower_right, .window_left = 400});
      for (std::size_t h = 0; h < c.query_heads; ++h)
        for (std::size_t i = 0; i < queries; ++i)
          for (std::size_t x = 0; x < c.d_v; ++x)
            ASSERT_EQ(c.out_at(n, h, i, x), alone[(h * queries + i) * c.d_v + x])
                << n << " " << h << " " << i << " " << x;
    }
  });
}

TEST(Prefill, SmallProblemsStayOnTheCallingThread) {
  Random random(8);
  Case c;
  c.query_heads = 4;
  c.n_q = c.n_k = 24;
  c.d_k = c.d_v = 16;
  c.make(random);
  std::set<std::thread::id> threads;
  const auto note = [&](const ScoreTile<float>&) { threads.insert(std::this_thread::get_id()); };
  c.options.score_mod = score_mod(note);
  EXPECT_EQ(plan_of(c, 8).threads, 1u);
  c.run({.threads = 8});
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(Prefill, ProgressIsToldAndCanCancel) {
  Random random(9);
  Case c;
  c.query_heads = 3;
  c.n_q = c.n_k = 600;
  c.d_k = c.d_v = 8;
  c.options.causal = Causal::upper_left;
  c.make(random);
  for (const std::size_t threads : {1, 2}) {
    std::vector<double> told;
    const auto follow = [](double done, void* user) {
      static_cast<std::vector<double>*>(user)->push_back(done);
      return true;
    };
    c.run({.threads = threads, .progress = {follow, &told}});
    EXPECT_GT(told.size(), 2 * plan_of(c, threads).tasks);  // within tasks too
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_DOUBLE_EQ(told.back(), 1.0);
    std::size_t calls = 0;
    const auto refuse = [](double, void* user) { return ++*static_cast<std::size_t*>(user) < 2; };
    EXPECT_THROW(c.run({.threads = threads, .progress = {refuse, &calls}}), Cancelled);
    EXPECT_EQ(calls, 2u);
  }
}

}  // namespace
}  // namespace heed
