#include "kernels/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/case_test.h"

namespace heed {
namespace {

using test::for_each_target;

TEST(KernelTargets, TheBestComesFirstAndTheScalarOneAlwaysRuns) {
  const std::vector<std::string> targets = supported_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(current_target(), targets.front());
#if defined(__x86_64__)
  EXPECT_EQ(targets.back(), "SCALAR");
#endif
}

TEST(KernelTargets, TheForcedOneIsPlanned) {
  for_each_target([](const std::string& target) {
    EXPECT_EQ(current_target(), target);
    const ConstTensorView x = bhnd(static_cast<const float*>(nullptr), 1, 1, 32, 8);
    EXPECT_EQ(Plan(x, x, x).info().target, target);
  });
}

TEST(KernelTargets, AnUnknownOneIsAnErrorThatNamesThoseThereAre) {
  ::setenv("HEED_FORCE_TARGET", "AVX9", 1);
  try {
    current_target();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("HEED_FORCE_TARGET is AVX9"));
    EXPECT_THAT(e.what(), testing::HasSubstr(supported_targets().front()));
  }
  ::unsetenv("HEED_FORCE_TARGET");
}

}  // namespace
}  // namespace heed
