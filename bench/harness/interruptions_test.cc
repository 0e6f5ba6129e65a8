#include "bench/harness/interruptions.h"

#include <gtest/gtest.h>

namespace heed::bench {
namespace {

// A clock that gains half a microsecond each time it is read, and 100 every thousandth time.
double clock_with_gaps() {
  static double now = 0;
  static int reads = 0;
  return now += ++reads % 1000 == 0 ? 100e-6 : 0.5e-6;
}

TEST(BenchInterruptions, AreTheGapsAndNothingElse) {
  EXPECT_NEAR(interrupted_part(1.0, clock_with_gaps), 100 / (100 + 999 * 0.5), 1e-3);
  EXPECT_EQ(interrupted_part(0.0, clock_with_gaps), 0.0);
}

}  // namespace
}  // namespace heed::bench
