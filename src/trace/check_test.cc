#include "heed/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/test_problems.h"

namespace heed::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckReport marked(const Problem& problem, const std::string& solution) {
  const Trace t = trace(problem);
  return check(t, parse_solution(solution, t));
}

std::string error_of(const std::string& solution) {
  try {
    const Trace t = trace(i_love_ai());
    parse_solution(solution, t);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Check, ACorrectSolutionPasses) {
  const CheckReport r = marked(i_love_ai(), R"({"S": [[0,1,1],[1,1,2],[1,2,3]],
      "A": [[0.1978,0.4011,0.4011],[0.2483,0.2483,0.5035],[0.1400,0.2840,0.5760]]})");
  EXPECT_TRUE(r.passed());
  EXPECT_EQ(r.correct, 18u);
  EXPECT_THAT(render_text(trace(i_love_ai()), r), HasSubstr("All 18 correct."));
}

TEST(Check, TheLastWrittenDigitDecides) {
  const auto wrong = [](const std::string& z) {
    return marked(i_love_ai(), R"({"steps": [{"Z": [)" + z + R"(], "row": 0, "col": 1}]})").wrong;
  };
  EXPECT_EQ(wrong("0.7"), 0u);  // 0.70710...
  EXPECT_EQ(wrong("0.71"), 0u);
  EXPECT_EQ(wrong("0.70"), 1u);
  EXPECT_EQ(wrong("\"0.707\""), 0u);
  EXPECT_EQ(wrong("0.708"), 1u);
  EXPECT_EQ(wrong("1"), 1u);  // an integer is meant exactly
  EXPECT_EQ(wrong("\"71%\""), 0u);
  EXPECT_EQ(wrong("7.1e-1"), 0u);
}

TEST(Check, WhoGoesOnFromRoundedNumbersIsRight) {
  // 2 / 1.41 = 1.4184: 1.42 follows from the root as written, 1.41 from the true one.
  for (const char* z : {"1.42", "1.41"}) {
    const CheckReport r = marked(i_love_ai(), std::string(R"({"steps": [{"root": 1.41}, {"Z": [)") +
                                                  z + R"(], "row": 1, "col": 2}]})");
    EXPECT_EQ(r.wrong, 0u) << z;
  }
  EXPECT_EQ(marked(i_love_ai(), R"({"steps": [{"Z": [1.42], "row": 1, "col": 2}]})").wrong, 1u);
}

TEST(Check, ExponentialsWithOrWithoutTheMaximum) {
  EXPECT_TRUE(
      marked(i_love_ai(), R"({"steps": [{"exp": [1, 2.03, 2.03]}, {"sum": [5.06]}]})").passed());
  EXPECT_TRUE(marked(i_love_ai(), R"({"steps": [{"max": [0.71]}, {"shifted": [-0.71, 0, 0]},
      {"exp": [0.49, 1, 1]}, {"sum": [2.49]}, {"A": [0.198, 0.401, 0.401]}]})")
                  .passed());
}

TEST(Check, AnAbandonedSlipAndACarriedOneAreToldApart) {
  // V[love,1] is not used; V[AI,2] is: 4 for 3.
  const CheckReport r = marked(i_love_ai(), R"({"V": [[1,2],[2,1],[1,4]],
      "O": [[0.5989, 2.4011],[0.7517, 2.7587],[0.7160, 2.8680]]})");
  EXPECT_EQ(r.wrong, 2u);
  EXPECT_EQ(r.carried, 3u);
  std::vector<std::string> said;
  for (const Finding& f : r.findings)
    if (f.mark == Mark::wrong) said.push_back(f.where + (f.carried_on ? " carried on" : " pen"));
  EXPECT_THAT(said, ElementsAre("V[love,1] pen", "V[AI,2] carried on"));
}

TEST(Check, WhatIsLeftOutIsMissingNotWrong) {
  const CheckReport r = marked(i_love_ai(), R"({"S": [[0, null, 1], null, [1, "", 3]]})");
  EXPECT_EQ(r.correct, 4u);
  EXPECT_EQ(r.missing, 5u);
  EXPECT_FALSE(r.passed());
  EXPECT_THAT(render_text(trace(i_love_ai()), r), HasSubstr("Left out: S[I,love]"));
}

TEST(Check, TheJsonReportHasEveryMark) {
  const std::string json = to_json(marked(i_love_ai(), R"({"V": [[1,2],[2,1],[1,3]]})"));
  EXPECT_THAT(json, HasSubstr(R"("wrong": 1)"));
  EXPECT_THAT(json, HasSubstr(R"("where": "V[love,1]", "written": "2", "expected": 0)"));
  EXPECT_THAT(json, HasSubstr(R"("passed": false)"));
}

TEST(Check, MasksAreMarkedWithInfinity) {
  Problem p = i_love_ai();
  p.causal = Causal::upper_left;
  EXPECT_TRUE(marked(p, R"({"M": [[0, "-inf", "-∞"], ["0.71", "0.71", "-inf"],
      ["0.71", "1.41", "2.12"]], "A": [[1, 0, 0], ["0.5", "0.5", 0], ["0.140", "0.284", "0.576"]]})")
                  .passed());
}

TEST(Check, BadSolutionsNameTheSpot) {
  EXPECT_THAT(error_of("{}"), HasSubstr("claims nothing"));
  EXPECT_THAT(error_of(R"({"T": [[1]]})"), HasSubstr("is no step of this problem; there are X"));
  EXPECT_THAT(error_of("{\n\"S\": [[1,2,3],\n[1,2]]}"),
              HasSubstr("S: row 2 has 2 values, expected 3 (line 3)"));
  EXPECT_THAT(error_of(R"({"S": [[1,2,3,4]]})"), HasSubstr("expected at most 3 and 3"));
  EXPECT_THAT(error_of(R"({"S": [["abc"]]})"), HasSubstr("\"abc\", expected a number"));
  EXPECT_THAT(error_of(R"({"S": [["1.2.3"]]})"), HasSubstr("is no number"));
  EXPECT_THAT(error_of(R"({"steps": [{"row": 1}]})"), HasSubstr("an item claims nothing"));
  EXPECT_THAT(error_of(R"({"steps": [{"S": 1, "Z": 2}]})"), HasSubstr("claims both"));
  EXPECT_THAT(error_of(R"({"steps": [{"weighted": [[1]], "of": 9}]})"), HasSubstr("of is 9"));
  EXPECT_THAT(error_of(R"({"V": {"shape": [5]}})"), HasSubstr("a claimed shape is"));
  EXPECT_THAT(error_of(R"({"S": []})"), HasSubstr("S: is empty"));
}

TEST(Check, ASolutionMayStandInTheProblemFile) {
  const std::string file = R"({"q": [[1]], "k": [[2]], "v": [[3]], "solution": {"S": [[2]]}})";
  const Trace t = trace(parse_problem(file));
  const std::optional<Solution> solution = solution_of_problem(file, t);
  ASSERT_TRUE(solution);
  EXPECT_TRUE(check(t, *solution).passed());
  EXPECT_FALSE(solution_of_problem(R"({"q": [[1]], "k": [[2]], "v": [[3]]})", t));
}

TEST(Diff, FindsTheFirstStepThatDiffers) {
  Problem changed = i_love_ai();
  changed.w_k[0](0, 0) = 1;
  const Trace a = trace(i_love_ai()), b = trace(changed);
  const DiffReport r = diff(a, b);
  ASSERT_FALSE(r.differences.empty());
  EXPECT_EQ(r.differences.front().id, "W_K");
  EXPECT_EQ(r.differences.front().b, 1);
  EXPECT_THAT(r.same, ::testing::IsSupersetOf({"X", "W_Q", "W_V", "Q", "V"}));
  const std::string text = render_text(a, b, r);
  EXPECT_THAT(text, HasSubstr("First difference, in W_K:\n  W_K[1,1]  0  1\n"));
  EXPECT_THAT(to_json(r), HasSubstr(R"("equal": false)"));
}

TEST(Diff, EqualTracesAndTolerance) {
  Problem nearly = i_love_ai();
  nearly.sequences[0].x(0, 0) = 1 + 1e-9;
  const Trace a = trace(i_love_ai()), b = trace(nearly);
  EXPECT_TRUE(diff(a, a).differences.empty());
  EXPECT_THAT(render_text(a, a, diff(a, a)), HasSubstr("No difference."));
  EXPECT_FALSE(diff(a, b).differences.empty());
  EXPECT_TRUE(diff(a, b, 1e-6).differences.empty());
  // Digits enough to tell them apart.
  EXPECT_THAT(render_text(a, b, diff(a, b)), HasSubstr("1.000000001"));
}

TEST(Diff, ShapesThatCannotBeCompared) {
  Problem shorter = i_love_ai();
  shorter.sequences[0].tokens.pop_back();
  shorter.sequences[0].x = Matrix(2, 2, {1, 0, 0, 1});
  shorter.causal = Causal::upper_left;
  const DiffReport r = diff(trace(i_love_ai()), trace(shorter));
  EXPECT_THAT(r.shape, ::testing::Contains("X is 3×2 in the first and 2×2 in the second"));
  EXPECT_THAT(r.shape, ::testing::Contains("M is in the second only"));
}

}  // namespace
}  // namespace heed::explain
