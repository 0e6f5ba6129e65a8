// Plans that are run again.
#include <gtest/gtest.h>

#include "base/allocations_test.h"
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

}  // namespace
}  // namespace heed
