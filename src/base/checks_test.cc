#include "base/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace heed {
namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2;

TEST(Checks, ProductOfSizes) {
  EXPECT_EQ(checked_product("t", {}), 1u);
  EXPECT_EQ(checked_product("t", {2, 3, 5}), 30u);
  EXPECT_EQ(checked_product("t", {kHuge, 0, kHuge}), 0u);
  EXPECT_EQ(checked_product("t", {kHuge, 1}), kHuge);
}

TEST(Checks, ProductThatOverflowsNamesTheSizes) {
  try {
    checked_product("query", {kHuge, 2});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::StartsWith("query: "));
    EXPECT_THAT(e.what(), ::testing::HasSubstr(" x 2 elements"));
  }
}

TEST(Checks, RequireThrowsTheJoinedText) {
  EXPECT_NO_THROW(require(true, "unused"));
  try {
    require(false, "query has head_dim ", 64, " but key has ", 80);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "query has head_dim 64 but key has 80");
  }
}

}  // namespace
}  // namespace heed
