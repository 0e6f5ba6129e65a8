// Plans that are run again.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/allocations_test.h"
#include "base/threads.h"
#include "kernels/random_case_test.h"

namespace heed {
namespace {

using test::allocations;
using test::bits;
using test::Case;
using test::make_random;
using test::Random;

// Every option, on both kernels, with lengths that change from run to run.
TEST(Plan, RunsAgainWithoutAllocating) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Case c;
    make_random(random, c, seed % 2 == 0 ? 4 : 60, 900);
    c.run();
    const auto expected = bits(c);
    Plan plan(c.q.view(), c.k.view(), c.v.view(), c.options, {.threads = 1});
    const RowView lse = rows(c.lse.data(), c.query_heads, c.n_q);
    const auto run = [&] {
      plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), lse, c.options);
    };
    run();
    const std::size_t before = allocations;
    run();
    EXPECT_EQ(allocations, before) << c;
    EXPECT_EQ(bits(c), expected) << c;
    if (c.options.key_lengths.empty()) continue;
    for (std::int64_t& length : c.lengths) length /= 2;
    const std::size_t shorter = allocations;
    run();
    EXPECT_EQ(allocations, shorter) << c;
  }
}

// Work enough for three threads, in each way that it is shared among them.
struct Way {
  std::string_view kernel;
  std::size_t tasks;  // 0: as many as the tiles make
  std::size_t batch, kv_heads, n_q, n_k;
  std::vector<std::int64_t> cu_q = {}, cu_k = {};
};
const Way kWays[] = {
    {"prefill", 0, 1, 2, 300, 300},
    {"decode", 9, 1, 1, 2, 9 * 512},  // the splits are tasks
    {"decode", 16, 2, 8, 2, 2000},    // the heads are
    {"prefill, decode", 0, 1, 2, 300, 300, {0, 1, 3, 200, 300}, {0, 100, 110, 200, 300}},
};

TEST(Plan, RunsAgainWithoutAllocatingOnAnyNumberOfThreads) {
  for (const Way& way : kWays)
    for (const std::size_t threads : {2, 3}) {
      Random random(threads);
      Case c;
      c.batch = way.batch;
      c.query_heads = 8;
      c.kv_heads = way.kv_heads;
      c.n_q = way.n_q;
      c.n_k = way.n_k;
      c.d_k = c.d_v = 64;
      c.options.cu_seqlens_q = c.cu_q = way.cu_q;
      c.options.cu_seqlens_k = c.cu_k = way.cu_k;
      c.make(random);
      c.run({.threads = 1});
      const auto expected = bits(c);
      Plan plan(c.q.view(), c.k.view(), c.v.view(), c.options, {.threads = threads});
      ASSERT_EQ(plan.info().threads, thread_count(threads)) << c;
      EXPECT_EQ(plan.info().kernel, way.kernel) << c;
      if (way.tasks != 0 && plan.info().threads > 1) {
        EXPECT_EQ(plan.info().tasks, way.tasks) << c;
      }
      const RowView lse = rows(c.lse.data(), c.query_heads, c.n_q);
      const auto run = [&] {
        plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), lse, c.options);
      };
      run();
      const std::size_t before = allocations;
      for (int times = 0; times < 3; ++times) run();
      EXPECT_EQ(allocations, before) << c;
      EXPECT_EQ(bits(c), expected) << c;
      if (c.cu_q.empty()) continue;
      c.cu_q[1] = 100;  // other sequences decode than before
      c.cu_q[2] = 103;
      c.cu_q[3] = 104;
      const std::size_t recut = allocations;
      run();
      EXPECT_EQ(allocations, recut) << c;
    }
}

// One head alone is work for many threads, but not in blocks so small that packing dominates.
TEST(Plan, EveryThreadGetsBlocks) {
  if (thread_count(2) == 1) GTEST_SKIP() << "built without threads";
  const auto tasks = [](std::size_t tokens, std::size_t threads) {
    const ConstTensorView x = bhnd(static_cast<const float*>(nullptr), 1, 1, tokens, 64);
    const AttentionOptions causal = {.causal = Causal::upper_left};
    return Plan(x, x, x, causal, {.threads = threads}).info().tasks;
  };
  for (const std::size_t threads : {2, 3, 8, 16, 20}) EXPECT_GE(tasks(4096, threads), 2 * threads);
  EXPECT_LE(tasks(4096, 1000), 4096u / 90);
  EXPECT_LT(tasks(4096, 1), tasks(4096, 2));
  // Twice the tokens make larger blocks, up to a point.
  EXPECT_LE(tasks(16384, 2), tasks(8192, 2) + 1);
  EXPECT_GT(tasks(32768, 2), tasks(16384, 2) + 8);
}

// Eight causal heads of 64: as much for twice the tokens, and less than 8 MB on two threads.
TEST(Plan, TheWorkspaceDoesNotGrowWithTheTokens) {
  const auto bytes = [](std::size_t tokens, std::size_t threads) {
    const ConstTensorView x = bhnd(static_cast<const float*>(nullptr), 1, 8, tokens, 64);
    const AttentionOptions causal = {.causal = Causal::upper_left};
    return Plan(x, x, x, causal, {.threads = threads}).info().workspace_bytes;
  };
  EXPECT_EQ(bytes(8192, 1), bytes(16384, 1));
  EXPECT_LE(bytes(8192, 2), 2 * bytes(8192, 1));
  EXPECT_LT(bytes(8192, 2), 8'000'000u);
}

}  // namespace
}  // namespace heed
