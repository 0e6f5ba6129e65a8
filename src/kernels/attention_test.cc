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

}  // namespace
}  // namespace heed
