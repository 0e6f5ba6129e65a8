#include "bench/harness/interruptions.h"

#include <gtest/gtest.h>

namespace heed::bench {
namespace {

TEST(BenchInterruptions, ArePartOfTheTime) {
  for (const double seconds : {0.0, 1e-6, 0.002}) {
    const double part = interrupted_part(seconds);
    EXPECT_GE(part, 0);
    EXPECT_LE(part, 1);
  }
}

}  // namespace
}  // namespace heed::bench
