#include "heed/attention.h"

#include <gtest/gtest.h>

#include "kernels/case_test.h"

namespace heed {
namespace {

using test::Case;
using test::expect_exact;
using test::for_each_target;
using test::Random;

TEST(Attention, EdgeShapes) {
  for_each_target([](const std::string&) {
    Random random(1);
    for (const std::size_t n_q : {1, 2, 3, 5, 6, 7, 13, 47})
      for (const std::size_t n_k : {1, 2, 15, 16, 17, 33, 511, 512, 513})
        for (const std::size_t d : {1, 8, 17}) {
          Case c;
          c.n_q = n_q;
          c.n_k = n_k;
          c.d_k = d;
          c.d_v = d + 1;
          c.make(random);
          c.run();
          expect_exact(c);
        }
  });
}

// Twice on one plan: the second run must not find what the first one left in the workspace.
TEST(Attention, WindowsThatBeginPastTheLastKeySeeNothing) {
  for_each_target([](const std::string&) {
    Random random(5);
    Case c;
    c.n_q = 6;
    c.n_k = 64;
    c.d_k = c.d_v = 16;
    c.make(random);
    std::vector<std::int64_t> offsets = {60};
    const AttentionOptions options = {.query_offsets = offsets, .window_left = 3};
    Plan plan(c.q.view(), c.k.view(), c.v.view(), options);
    plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), {}, options);
    offsets[0] = 200;
    plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), {}, options);
    for (const float x : c.out.f32) EXPECT_EQ(x, 0.0f);
  });
}

}  // namespace
}  // namespace heed
