// Every option of the operator in the fused kernels, in any combination, against the oracle.
#include <gtest/gtest.h>

#include "kernels/random_case_test.h"

namespace heed {
namespace {

using test::Case;
using test::expect_exact;
using test::for_each_target;
using test::make_random;
using test::Random;

TEST(AttentionOptions, AnyCombinationAgreesWithTheOracle) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Random random(seed);
      Case c;
      make_random(random, c, 60, seed % 8 == 0 ? 1100 : 90);
      c.run();
      expect_exact(c);
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << " on " << target;
        return;
      }
    }
  });
}

}  // namespace
}  // namespace heed
