#include "heed/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/test_problems.h"

namespace heed::explain {
namespace {

CheckReport marked(const Problem& problem, const std::string& solution) {
  const Trace t = trace(problem);
  return check(t, parse_solution(solution, t));
}

TEST(Check, ACorrectSolutionPasses) {
  const CheckReport r = marked(i_love_ai(), R"({"S": [[0,1,1],[1,1,2],[1,2,3]],
      "A": [[0.1978,0.4011,0.4011],[0.2483,0.2483,0.5035],[0.1400,0.2840,0.5760]]})");
  EXPECT_TRUE(r.passed());
  EXPECT_EQ(r.correct, 18u);
}

}  // namespace
}  // namespace heed::explain
