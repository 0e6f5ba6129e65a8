// Decode: few queries, against the oracle, and the same bits however the work is shared.
#include "kernels/decode.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/threads.h"
#include "kernels/random_case_test.h"

namespace heed {
namespace {

using test::bits;
using test::Case;
using test::expect_exact;
using test::for_each_adversarial_key;
using test::for_each_target;
using test::kInf;
using test::kNaN;
using test::kStored;
using test::make_random;
using test::Random;
using test::set_keys;

void run_and_check(Case& c) {
  test::run_and_check(c, "decode");
}

TEST(Decode, EdgesOfBlocksTilesAndSplits) {
  for_each_target([](const std::string&) {
    Random random(1);
    for (const std::size_t n_k : {0,  1,  2,  3,   4,   5,   6,   7,   11,   12,   13,
                                  15, 16, 17, 255, 256, 257, 511, 512, 1023, 1024, 1537})
      for (const std::size_t rows : {1, 2, 3, 4, 5}) {
        Case c;
        c.query_heads = rows;
        c.n_k = n_k;
        c.d_k = random.pick<std::size_t>({3, 8, 16, 20, 32});
        c.d_v = random.pick<std::size_t>({1, 8, 16, 24, 35});
        c.kv_type = random.pick({DType::f32, DType::f16, DType::bf16});
        c.make(random);
        run_and_check(c);
      }
  });
}

// Four rows mix values in blocks of 12 keys, or of as many twelves as are short enough.
TEST(Decode, EdgesOfBlocksOfValues) {
  for_each_target([](const std::string&) {
    Random random(15);
    for (const std::size_t n_k : {11, 12, 13, 23, 24, 25, 47, 48, 49, 97})
      for (const std::size_t d_v : {64, 128, 250, 520}) {
        Case c;
        c.query_heads = random.pick<std::size_t>({3, 4, 8});
        c.n_k = n_k;
        c.d_k = 8;
        c.d_v = d_v;
        c.kv_type = random.pick({DType::f16, DType::bf16});
        c.gap = d_v % 3;
        c.make(random);
        run_and_check(c);
      }
  });
}

TEST(Decode, EveryPairOfTypes) {
  for_each_target([](const std::string&) {
    Random random(2);
    for (const DType q : kStored)
      for (const DType kv : kStored)
        for (const std::size_t dim : {1, 7, 8, 9, 31, 32, 33, 40, 64, 100}) {
          Case c;
          c.query_heads = 4;
          c.kv_heads = 2;
          c.n_q = 2;
          c.n_k = 37;
          c.d_k = c.d_v = dim;
          c.q_type = q;
          c.kv_type = kv;
          c.gap = 1;
          c.make(random);
          run_and_check(c);
        }
  });
}

TEST(Decode, EveryHeadDim) {
  for_each_target([](const std::string&) {
    Random random(14);
    test::for_each_dim([&](std::size_t dim) {
      Case c;
      c.query_heads = 4 + dim % 3;
      c.n_k = 23;
      c.d_k = dim;
      c.d_v = dim;
      c.kv_type = kStored[dim % 3];
      c.gap = dim % 2;
      c.make(random);
      run_and_check(c);
    });
  });
}

TEST(Decode, GroupsUpTo64AndRowsUpTo513) {
  for_each_target([](const std::string&) {
    Random random(3);
    for (const auto& [group, queries, dim] : {std::array<std::size_t, 3>{64, 1, 64},
                                              {64, 4, 16},
                                              {24, 3, 32},
                                              {1, 1, 513},
                                              {4, 1, 512}}) {
      Case c;
      c.query_heads = group;
      c.n_q = queries;
      c.n_k = 300;
      c.d_k = dim;
      c.d_v = dim + 1;
      c.options.causal = Causal::lower_right;
      c.make(random);
      run_and_check(c);
    }
  });
}

TEST(Decode, AnyCombinationOfOptionsAgreesWithTheOracle) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Random random(1000 + seed);
      Case c;
      make_random(random, c, 4, seed % 6 == 0 ? 2100 : 90);
      c.run();
      expect_exact(c);
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << " on " << target;
        return;
      }
    }
  });
}

TEST(Decode, TheSameBitsForAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Case c;
    make_random(random, c, 4, 2100);
    c.run({.threads = 1});
    const auto expected = bits(c);
    for (const std::size_t threads : {2, 3, 8}) {
      c.run({.threads = threads});
      EXPECT_EQ(bits(c), expected) << c << " on " << threads << " threads";
    }
  }
}

// Long enough that threads are woken and splits become tasks.
TEST(Decode, SplitsAreSharedByThreadsWithoutChangingABit) {
  if (thread_count(2) == 1) GTEST_SKIP() << "built without threads";
  for (const std::size_t batch : {1, 9}) {
    Random random(batch);
    Case c;
    c.batch = batch;
    c.query_heads = 4;
    c.n_k = 9000;
    c.d_k = c.d_v = 64;
    c.make(random);
    c.run({.threads = 1});
    const auto expected = bits(c);
    EXPECT_EQ(plan_of(c, 2).key_splits, 17u);
    EXPECT_EQ(plan_of(c, 2).tasks, batch == 1 ? 17u : 9u);
    for (const std::size_t threads : {2, 3, 8}) {
      c.run({.threads = threads});
      EXPECT_EQ(bits(c), expected) << threads << " threads";
    }
  }
}

TEST(Decode, TheSameBitsAloneAndInABatch) {
  Random random(5);
  Case c;
  c.batch = 3;
  c.query_heads = 6;
  c.kv_heads = 2;
  c.n_q = 2;
  c.n_k = 1700;
  c.d_k = 24;
  c.d_v = 40;
  c.kv_type = DType::bf16;
  c.lengths = {1700, 600, 3};
  c.make(random);
  c.options.key_lengths = c.lengths;
  c.options.causal = Causal::lower_right;
  c.run();
  for (std::size_t b = 0; b < c.batch; ++b) {
    const auto row = [&](TensorView t, std::size_t tokens) {
      t.data = static_cast<char*>(t.data) + static_cast<std::ptrdiff_t>(b) * t.batch_stride *
                                                static_cast<std::ptrdiff_t>(size_of(t.dtype));
      t.batch = 1;
      t.tokens = tokens;
      return t;
    };
    const auto keys = static_cast<std::size_t>(c.lengths[b]);
    std::vector<float> alone(c.query_heads * c.n_q * c.d_v);
    attention(row(c.q.view(), c.n_q), row(c.k.view(), keys), row(c.v.view(), keys),
              bhnd(alone.data(), 1, c.query_heads, c.n_q, c.d_v), {.causal = Causal::lower_right});
    EXPECT_EQ(std::memcmp(alone.data(), c.out.f32.data() + b * alone.size(),
                          alone.size() * sizeof(float)),
              0);
  }
}

// A prompt and the next tokens of others in one batch: each kernel does its part.
TEST(Decode, RaggedBatchesMixPrefillAndDecode) {
  for_each_target([](const std::string&) {
    Random random(6);
    Case c;
    c.query_heads = 4;
    c.kv_heads = 2;
    c.n_q = 40;
    c.n_k = 700;
    c.d_k = 16;
    c.d_v = 20;
    c.cu_q = {0, 1, 1, 30, 33, 40};
    c.cu_k = {0, 500, 510, 610, 620, 700};
    c.options.cu_seqlens_q = c.cu_q;
    c.options.cu_seqlens_k = c.cu_k;
    c.options.causal = Causal::lower_right;
    c.make(random);
    EXPECT_EQ(plan_of(c).kernel, "prefill, decode");
    c.run();
    expect_exact(c);
  });
}

// --- Not numbers --------------------------------------------------------------------------------

// One row of 4 heads over 600 keys of 8 numbers.
Case small_case(Random& random) {
  Case c;
  c.query_heads = 4;
  c.n_k = 600;
  c.d_k = c.d_v = 8;
  c.make(random);
  return c;
}

TEST(Decode, HiddenKeysNeverLeak) {
  for_each_target([](const std::string&) {
    for (const float bad : {kNaN, kInf, -kInf})
      for (const int how : {0, 1, 2, 3}) {
        Random random(7);
        Case c;
        c.query_heads = 4;
        c.n_q = 3;
        c.n_k = 600;
        c.d_k = c.d_v = 20;
        c.make(random);
        c.options.causal = Causal::lower_right;
        const std::size_t hidden = how == 3 ? 599 : 300;  // by causal: from all rows but the last
        for (std::size_t x = 0; x < 20; ++x) {
          c.k.set(0, 0, hidden, x, bad);
          c.v.set(0, 0, hidden, x, bad);
        }
        c.mask.assign(600, 1);
        c.bias.assign(600, 0.0f);
        const auto hide = [](const auto& tile) {
          if (tile.key > 300 || tile.key + tile.cols <= 300) return;
          for (std::size_t r = 0; r < tile.rows; ++r)
            tile.s[r * tile.stride + 300 - tile.key] =
                -std::numeric_limits<std::remove_reference_t<decltype(*tile.s)>>::infinity();
        };
        if (how == 0) c.mask[300] = 0;
        if (how == 0) c.options.mask = scores(c.mask.data(), 1, 1, 1, 600);
        if (how == 1) c.bias[300] = -kInf;
        if (how == 1) c.options.bias = scores(c.bias.data(), 1, 1, 1, 600);
        if (how == 2) c.options.score_mod = score_mod(hide);
        c.run();
        expect_exact(c);
        for (std::size_t h = 0; h < 4; ++h) {
          EXPECT_TRUE(std::isfinite(c.out_at(0, h, 0, 5))) << how << " " << bad;
          EXPECT_EQ(std::isfinite(c.out_at(0, h, 2, 5)), how != 3) << how << " " << bad;
        }
      }
  });
}

TEST(Decode, VisibleNanPropagates) {
  for_each_target([](const std::string&) {
    Random random(8);
    Case in_key = small_case(random), in_value = small_case(random);
    in_key.k.set(0, 0, 123, 3, kNaN);
    in_key.run();
    in_value.v.set(0, 0, 599, 3, kNaN);
    in_value.run();
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t x = 0; x < 8; ++x) {
        EXPECT_TRUE(std::isnan(in_key.out_at(0, h, 0, x)));
        EXPECT_EQ(std::isnan(in_value.out_at(0, h, 0, x)), x == 3);
      }
  });
}

TEST(Decode, RowsThatSeeNothingAreZeroAndRowsOfMinusInfinityAreNan) {
  for_each_target([](const std::string&) {
    Random random(9);
    Case c = small_case(random);
    c.mask.assign(600, 0);
    c.options.mask = scores(c.mask.data(), 1, 1, 1, 600);
    c.run();
    expect_exact(c);
    EXPECT_EQ(c.out_at(0, 0, 0, 0), 0.0f);
    EXPECT_EQ(c.lse_at(0, 0, 0), -kInf);
    c.sinks = {1.0f, 2.0f, -kInf, 0.5f};
    c.options.sinks = c.sinks;
    c.run();
    EXPECT_EQ(c.out_at(0, 1, 0, 0), 0.0f);
    EXPECT_EQ(c.lse_at(0, 1, 0), 2.0f);
    EXPECT_EQ(c.lse_at(0, 2, 0), -kInf);

    Case infinite = small_case(random);
    for (std::size_t j = 0; j < 600; ++j) infinite.k.set(0, 0, j, 0, -kInf);
    for (std::size_t h = 0; h < 4; ++h) infinite.q.set(0, h, 0, 0, 1.0f);
    infinite.run();
    expect_exact(infinite);
    EXPECT_TRUE(std::isnan(infinite.out_at(0, 0, 0, 0)));
    infinite.k.set(0, 0, 400, 0, 0.5f);  // one finite score takes all the weight
    infinite.run();
    expect_exact(infinite);
    EXPECT_EQ(infinite.out_at(0, 0, 0, 0), infinite.v.get(0, 0, 400, 0));
  });
}

// --- Accuracy -----------------------------------------------------------------------------------

TEST(Decode, LongSequences) {
  Random random(10);
  for (const DType kv : kStored) {
    Case c;
    c.query_heads = 4;
    c.n_k = 65536;
    c.d_k = c.d_v = 16;
    c.kv_type = kv;
    c.make(random);
    run_and_check(c);
    EXPECT_EQ(plan_of(c).key_splits, 128u);
  }
}

TEST(Decode, SeveralHeadsHaveLongerSplits) {
  for_each_target([](const std::string&) {
    Random random(12);
    for (const DType kv : kStored)
      for (const std::size_t n_k : {1023, 1025, 2047, 2048, 3100}) {
        Case c;
        c.query_heads = 8;
        c.kv_heads = 4;
        c.n_k = n_k;
        c.d_k = c.d_v = 16;
        c.kv_type = kv;
        c.make(random);
        run_and_check(c);
        EXPECT_EQ(plan_of(c).key_splits, std::max<std::size_t>(1, n_k / 1024));
      }
  });
}

TEST(Decode, AdversarialScores) {
  for_each_target([](const std::string&) {
    Random random(11);
    for_each_adversarial_key(random, [&](auto&& key) {
      Case c;
      c.query_heads = 3;
      c.n_k = 2000;
      c.d_k = 8;
      c.d_v = 12;
      c.make(random);
      set_keys(c, key);
      run_and_check(c);
    });
  });
}

// --- Plans --------------------------------------------------------------------------------------

TEST(Decode, PlansAreReusedForOtherLengths) {
  Random random(12);
  Case c = small_case(random);
  Plan plan(c.q.view(), c.k.view(), c.v.view(), c.options, {.threads = 2});
  c.lengths = {0};
  for (const std::int64_t length : {600, 17, 0, 513}) {
    c.lengths[0] = length;
    c.options.key_lengths = c.lengths;
    plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), rows(c.lse.data(), 4, 1), c.options);
    expect_exact(c);
  }
}

TEST(Decode, ProgressIsToldAndCanCancel) {
  Random random(13);
  Case c = small_case(random);
  double last = 0;
  const auto follow = [](double done, void* user) {
    EXPECT_GE(done, *static_cast<double*>(user));
    *static_cast<double*>(user) = done;
    return true;
  };
  c.run({.threads = 1, .progress = {follow, &last}});
  EXPECT_DOUBLE_EQ(last, 1.0);
  const auto refuse = [](double, void*) { return false; };
  EXPECT_THROW(c.run({.threads = 1, .progress = {refuse, nullptr}}), Cancelled);
}

}  // namespace
}  // namespace heed
