#include "heed/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/steps.h"
#include "trace/test_problems.h"

namespace heed::explain {
namespace {

TEST(Trace, HasOnlyTheNodesTheProblemHas) {
  const Trace t = trace(i_love_ai());
  std::vector<std::string> ids;
  for (const Node& node : t.nodes) ids.push_back(node.id);
  EXPECT_THAT(ids,
              ::testing::ElementsAre("X", "W_Q", "W_K", "W_V", "Q", "K", "V", "S", "Z", "A", "O"));
}

TEST(Trace, ReproducesILoveAi) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(t.at("Q").values, Matrix(3, 2, {1, 0, 1, 1, 2, 1}));
  EXPECT_EQ(t.at("S").values, Matrix(3, 3, {0, 1, 1, 1, 1, 2, 1, 2, 3}));
  EXPECT_NEAR(t.at("O").values(2, 1), 2.291980, 1e-6);
}

}  // namespace
}  // namespace heed::explain
