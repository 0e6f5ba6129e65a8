// cascade_attention: as exact as attention over every sequence by itself, whatever the options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/cache_case_test.h"

namespace heed {
namespace {

using test::bits;
using test::Case;
using test::contiguous_cache;
using test::expect_exact;
using test::for_each_target;
using test::kInf;
using test::lse_rows;
using test::make_random;
using test::Random;
using test::tokens_of;

// The sequences of a case begin with the same `prefix` tokens: forks of one prompt.
struct Forks {
  PagedKVCache cache;
  std::vector<SequenceId> ids;

  Forks(Case& c, DType dtype, std::size_t page_size, std::size_t prefix)
      : cache({.kv_heads = c.kv_heads,
               .key_dim = c.d_k,
               .value_dim = c.d_v,
               .dtype = dtype,
               .pages = (c.batch + 1) * (c.n_k / page_size + 2),
               .page_size = page_size}) {
    share(c.k, prefix);
    share(c.v, prefix);
    test::poison(cache);
    const SequenceId prompt = cache.add();
    cache.append(prompt, tokens_of(c.k.view(), 0, 0, prefix), tokens_of(c.v.view(), 0, 0, prefix));
    for (std::size_t b = 0; b < c.batch; ++b) {
      ids.push_back(cache.fork(prompt));
      cache.append(ids[b], tokens_of(c.k.view(), b, prefix, c.n_k - prefix),
                   tokens_of(c.v.view(), b, prefix, c.n_k - prefix));
    }
  }

  static void share(test::Stored& s, std::size_t prefix) {
    for (std::size_t b = 1; b < s.batch; ++b)
      for (std::size_t h = 0; h < s.heads; ++h)
        for (std::size_t t = 0; t < prefix; ++t)
          for (std::size_t d = 0; d < s.dim; ++d) s.set(b, h, t, d, s.get(0, h, t, d));
  }

  void run(Case& c, const Execution& execution = {}) const {
    cascade_attention(c.q.view(), cache, ids, c.out.view(), lse_rows(c), c.options, execution);
  }
};

TEST(Cascade, AnyOptionsAgreeWithTheOracle) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Random random(seed);
      Case c;
      make_random(random, c, seed % 3 == 0 ? 8 : 2, 100);
      if (!c.cu_k.empty() || c.batch == 1) continue;
      const std::size_t prefix = random.below(c.n_k + 1);
      const Forks forks(c, c.kv_type, random.pick<std::size_t>({1, 5, 16}), prefix);
      forks.run(c);
      expect_exact(c, test::Made::merged);
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << ", prefix " << prefix << " on " << target;
        return;
      }
    }
  });
}

// Enough sequences that the shared keys are attended to by the prefill kernel.
TEST(Cascade, ManySequencesOfEveryType) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8})
    for (const std::size_t n_q : {1, 3}) {
      Random random(3);
      Case c;
      c.batch = 9;
      c.query_heads = 6;
      c.kv_heads = 2;
      c.n_q = n_q;
      c.n_k = 160;
      c.d_k = 32;
      c.d_v = 24;
      c.kv_type = dtype == DType::i8 ? DType::f32 : dtype;
      c.q_type = c.kv_type;
      c.tokens_first = true;
      c.options.causal = Causal::lower_right;
      c.options.window_left = 120;  // cuts into the prefix
      for (std::size_t h = 0; h < c.query_heads; ++h) {
        c.slopes.push_back(0.01f * static_cast<float>(h));
        c.sinks.push_back(0.5f);
      }
      c.options.alibi_slopes = c.slopes;
      c.options.sinks = c.sinks;
      c.make(random);
      const Forks forks(c, dtype, 16, 133);
      EXPECT_EQ(forks.cache.shared_prefix(forks.ids), 128u);
      forks.run(c);
      test::Allowed more;
      if (dtype == DType::i8) {
        take_int8(c, contiguous_cache(c, DType::i8, random));
        more = test::int8_allowed(c);
      }
      expect_exact(c, test::Made::merged, more);
    }
}

TEST(Cascade, TheSameBitsForAnyNumberOfThreads) {
  Random random(4);
  Case c;
  c.batch = 8;
  c.query_heads = 4;
  c.kv_heads = 2;
  c.n_k = 1100;
  c.d_k = c.d_v = 64;
  c.make(random);
  const Forks forks(c, DType::f32, 16, 1024);
  forks.run(c, {.threads = 1});
  const auto expected = bits(c);
  for (const std::size_t threads : {2, 3, 8}) {
    forks.run(c, {.threads = threads});
    EXPECT_EQ(bits(c), expected) << threads;
  }
}

TEST(Cascade, WithNothingSharedItIsAttentionToTheBit) {
  Random random(5);
  Case c;
  c.batch = 3;
  c.n_k = 40;
  c.d_k = c.d_v = 8;
  c.make(random);
  const test::PagedCase paged(c, DType::f32, 16, random);
  paged.run(c);
  const auto expected = bits(c);
  cascade_attention(c.q.view(), paged.cache, paged.ids, c.out.view(), lse_rows(c));
  EXPECT_EQ(bits(c), expected);
}

TEST(Cascade, ReportsProgressOfAllItsRunsAndCanBeCancelled) {
  Random random(6);
  Case c;
  c.batch = 8;
  c.n_q = 2;
  c.n_k = 100;
  c.d_k = c.d_v = 16;
  c.make(random);
  const Forks forks(c, DType::f32, 16, 96);
  std::vector<double> seen;
  forks.run(c, {.threads = 1,
                .progress = {[](double done, void* user) {
                               static_cast<std::vector<double>*>(user)->push_back(done);
                               return true;
                             },
                             &seen}});
  ASSERT_GE(seen.size(), 3u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_DOUBLE_EQ(seen.back(), 1.0);
  EXPECT_THROW(forks.run(c, {.progress = {[](double, void*) { return false; }, nullptr}}),
               Cancelled);
}

TEST(Cascade, RefusesRaggedQueriesAndWrongShapes) {
  Random random(7);
  Case c;
  c.batch = 2;
  c.n_k = 20;
  c.make(random);
  const Forks forks(c, DType::f32, 4, 16);
  const std::vector<std::int64_t> cu = {0, 1, 2};
  c.options.cu_seqlens_q = cu;
  EXPECT_THAT([&] { forks.run(c); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("cu_seqlens_q has 3 values")));
  c.options = {};
  EXPECT_THAT(
      [&] { cascade_attention(c.k.view(), forks.cache, forks.ids, c.out.view()); },
      testing::ThrowsMessage<Error>(testing::HasSubstr("query has 20 tokens but out has 1")));
}

}  // namespace
}  // namespace heed
