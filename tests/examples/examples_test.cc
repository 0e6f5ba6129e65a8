// The worked examples: every number of the notes, and every slip that `check` must find in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heed/check.h"
#include "heed/io.h"
#include "heed/problem.h"
#include "heed/trace.h"

namespace heed::explain {
namespace {

std::string path(const std::string& name) {
  return HEED_SOURCE_DIR "/examples/" + name;
}
Trace worked(const std::string& name) {
  return trace(read_problem(path(name + ".json")));
}

void expect_values(const Node& node, const std::vector<std::vector<double>>& expected,
                   double tolerance = 1e-6) {
  ASSERT_EQ(node.values.rows, expected.size()) << node.id;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(node.values.cols, expected[i].size()) << node.id;
    for (std::size_t j = 0; j < expected[i].size(); ++j)
      EXPECT_NEAR(node.values(i, j), expected[i][j], tolerance) << node.id << i << "," << j;
  }
}

// Half a unit of the sixth decimal, in which the notes are written.
constexpr double kSixPlaces = 0.5e-6 + 1e-12;

TEST(Examples, ScoresOfOneHead) {
  const Trace t = worked("a-scores");
  const Expansion e = expand(t, t.at("S"), 0, 1);
  ASSERT_EQ(e.terms.size(), 3u);  // s_12 = q_11 k_21 + q_12 k_22 + q_13 k_23
  EXPECT_EQ(e.terms[0].a, t.at("Q").values(0, 0));
  EXPECT_EQ(e.terms[0].b, t.at("K").values(1, 0));
  EXPECT_EQ(e.terms[1].a, t.at("Q").values(0, 1));
  EXPECT_EQ(e.terms[1].b, t.at("K").values(1, 1));
  EXPECT_EQ(e.value, 4);
  EXPECT_EQ(e.reading, "query of token 1, key of token 2");
  EXPECT_EQ(t.find("V"), nullptr);
  EXPECT_EQ(t.output().id, "A");
}

TEST(Examples, HeadsSizesAndParameters) {
  const Trace small = worked("b-heads");
  EXPECT_EQ(small.sizes.m, 2u);
  EXPECT_EQ(small.sizes.l, 1u);
  EXPECT_EQ(small.sizes.head_parameters, 3u * (2 * 2 + 1) * 2);  // d (2m + l) T
  EXPECT_EQ(small.sizes.output_parameters, 2u * 1 * 3);          // T l d
  const Trace large = worked("b-eight-heads");
  EXPECT_EQ(large.sizes.head_parameters, 786432u);
  EXPECT_EQ(large.sizes.output_parameters, 262144u);
  EXPECT_EQ(large.sizes.parameters(), 1048576u);
}

TEST(Examples, CrossAttentionHasTwoLengths) {
  const Trace t = worked("b-cross-attention");
  EXPECT_EQ(t.at("A").values.rows, 2u);
  EXPECT_EQ(t.at("A").values.cols, 3u);
  EXPECT_EQ(t.at("K").values.rows, 3u);
  EXPECT_EQ(t.at("O").values.rows, 2u);
}

TEST(Examples, CausalWeightsAboveTheDiagonalAreZero) {
  const Trace t = worked("b-causal");
  const Matrix& a = t.at("A").values;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(a(i, j) == 0, j > i) << i << j;
}

TEST(Examples, FiveWordsHaveTheShapesOfTheNotes) {
  const Trace t = worked("c-five-words");
  for (const char* id : {"X", "Q", "K", "V", "O"}) {
    EXPECT_EQ(t.at(id).values.rows, 5u) << id;
    EXPECT_EQ(t.at(id).values.cols, 512u) << id;
  }
  EXPECT_EQ(t.at("W_Q").values.rows, 512u);
  EXPECT_EQ(t.at("A").values.cols, 5u);
  EXPECT_DOUBLE_EQ(t.at("Z").values(0, 0), t.at("S").values(0, 0) / std::sqrt(512));
  const Matrix& a = t.at("A").values;
  const Combination row = combine(t, t.at("O"), View::row, 2);  // O_3 = sum_j a_3j V_j
  ASSERT_EQ(row.parts.size(), 5u);
  for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(row.parts[j].coefficient, a(2, j));
  const Combination column = combine(t, t.at("O"), View::column, 7);
  for (std::size_t j = 0; j < 5; ++j)
    EXPECT_EQ(column.parts[j].coefficient, t.at("V").values(j, 7));
}

TEST(Examples, ILoveAi) {
  const Trace t = worked("i-love-ai");
  expect_values(t.at("Q"), {{1, 0}, {1, 1}, {2, 1}}, 0);
  expect_values(t.at("K"), {{0, 1}, {1, 0}, {1, 1}}, 0);
  expect_values(t.at("V"), {{1, 2}, {0, 1}, {1, 3}}, 0);
  expect_values(t.at("S"), {{0, 1, 1}, {1, 1, 2}, {1, 2, 3}}, 0);
  expect_values(t.at("A"),
                {{0.197776, 0.401112, 0.401112},
                 {0.248255, 0.248255, 0.503490},
                 {0.140029, 0.283995, 0.575975}},
                kSixPlaces);
  expect_values(t.at("O"), {{0.598888, 2.000000}, {0.751745, 2.255235}, {0.716005, 2.291980}},
                kSixPlaces);
}

TEST(Examples, SelfishAttention) {
  const Trace t = worked("selfish");
  const std::vector<std::vector<double>> scores = {{1, 3, -2, -3}, {14, 8, 4, -3}, {3, -1, 3, -2}};
  const std::vector<std::vector<double>> weights = {{0.118243, 0.873704, 0.005887, 0.002166},
                                                    {0.997482, 0.002473, 0.000045, 0.000000},
                                                    {0.493814, 0.009045, 0.493814, 0.003327}};
  const std::vector<std::vector<double>> results = {{0.983895, 0.005887, -0.753296},
                                                    {1.997392, 3.002336, 8.984983},
                                                    {-1.475725, -0.009982, -0.005717}};
  for (std::size_t b = 0; b < 3; ++b) {
    expect_values(t.at("S", b), {scores[b]}, 0);
    expect_values(t.at("A", b), {weights[b]}, kSixPlaces);
    expect_values(t.at("O", b), {results[b]}, kSixPlaces);
  }
}

// What check says is wrong: "place: mistake", in the order written, each mistake of a step once.
std::vector<std::string> slips(const std::string& name) {
  const Trace t = worked(name);
  const CheckReport report =
      check(t, parse_solution(io::read_text(path(name + ".solution.json")), t));
  EXPECT_EQ(report.carried, 0u);
  EXPECT_EQ(report.missing, 0u);
  std::vector<std::string> found;
  std::string last;
  for (const Finding& f : report.findings) {
    if (f.mark != Mark::wrong) continue;
    const std::string key = f.id + f.mistake;
    const bool whole_step = !f.mistake.empty() && key == last;
    last = key;
    if (!whole_step) found.push_back(f.where + " = " + f.written + (f.carried_on ? "!" : ""));
  }
  return found;
}

TEST(Examples, CheckFindsTheSlipsOfTheNotesAndNothingElse) {
  EXPECT_THAT(slips("i-love-ai"),
              ::testing::ElementsAre("V[love,1] = 2", "S[I,AI] = 2", "Z[love,AI] = 0.71"));
  EXPECT_THAT(slips("selfish"), ::testing::ElementsAre("S[query,1] of sequence 1 = 0",
                                                       "the working of S[query,4] of sequence 1 = "
                                                       "-1·2 + 1·0 + 1·(-1)"));
  EXPECT_THAT(slips("c-five-words"),
              ::testing::ElementsAre("shape of V = 5×12", "A[five,five] = 2.586e-05",
                                     "A[five,five] = 4.673e-01"));
  EXPECT_THAT(slips("b-heads"),
              ::testing::ElementsAre("Z[the,the] of head 1 = 1.7321", "S[the,cat] of head 2 = 1"));
}

TEST(Examples, CheckNamesTheMistakesOfTheNotes) {
  const auto said = [](const std::string& name) {
    const Trace t = worked(name);
    return render_text(t,
                       check(t, parse_solution(io::read_text(path(name + ".solution.json")), t)));
  };
  EXPECT_THAT(said("i-love-ai"),
              ::testing::HasSubstr("First wrong: V[love,1] = 2, expected 0. The later steps use 0: "
                                   "a slip of the pen."));
  EXPECT_THAT(said("c-five-words"), ::testing::HasSubstr("before the softmax"));
  EXPECT_THAT(said("c-five-words"), ::testing::HasSubstr("the exponential of the sum"));
  EXPECT_THAT(said("c-five-words"), ::testing::HasSubstr("V is 5×512, not 5×12"));
  EXPECT_THAT(said("b-heads"), ::testing::HasSubstr("the root of the model size"));
  EXPECT_THAT(said("b-heads"), ::testing::HasSubstr("this is K·Qᵀ, not Q·Kᵀ"));
}

}  // namespace
}  // namespace heed::explain
