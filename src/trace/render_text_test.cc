#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heed/render.h"
#include "trace/test_problems.h"
#include "trace/text_grid.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string page(const Problem& problem, const RenderOptions& options = {}) {
  return render_text(trace(problem), options);
}

TEST(RenderText, MatricesStandSideBySide) {
  EXPECT_THAT(
      page(i_love_ai()),
      HasSubstr(
          "  A  query ↓ key →                    V  key ↓          O  query ↓\n"
          "              I    love      AI              1  2                   1       2\n"
          "  I    │ 0.1978  0.4011  0.4011 │     I    │ 1  2 │     I    │ 0.5989  2.0000 │\n"
          "  love │ 0.2483  0.2483  0.5035 │  ×  love │ 0  1 │  =  love │ 0.7517  2.2552 │\n"));
}

TEST(RenderText, NothingIsWiderThanThePage) {
  Problem wide;
  wide.values = Problem::Values::none;
  Sequence s;
  s.tokens = {"日本語の長いトークンです", "a very long token indeed, longer than any label may be"};
  s.q = {Matrix(2, 30, 1.0 / 3)};
  s.k = {Matrix(2, 30, 12345.5)};
  wide.sequences = {s};
  for (const Problem& p : {i_love_ai(), everything(), selfish(), wide})
    for (const std::size_t width : {60, 80, 120})
      for (const Detail detail : {Detail::output, Detail::normal, Detail::entries})
        for (const View view : {View::entry, View::row, View::column, View::outer}) {
          RenderOptions options;
          options.width = width;
          options.detail = detail;
          options.view = view;
          for (const std::string& line : lines_of(page(p, options)))
            EXPECT_LE(display_width(line), width) << line;
        }
}

TEST(RenderText, NoLineEndsInSpaces) {
  for (const Problem& p : {i_love_ai(), everything(), selfish()})
    for (const std::string& line : lines_of(page(p))) EXPECT_FALSE(line.ends_with(" ")) << line;
}

TEST(RenderText, AsciiIsAsciiAlone) {
  RenderOptions options;
  options.ascii = true;
  Problem p = everything();
  p.sequences[0].tokens = {"é", "日本"};
  for (const View view : {View::entry, View::row, View::column, View::outer})
    for (const Detail detail : {Detail::normal, Detail::full}) {
      options.view = view;
      options.detail = detail;
      for (const char c : page(p, options)) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
    }
}

TEST(RenderText, WithoutItsEscapesAColouredPageIsThePlainOne) {
  for (const Problem& p : {i_love_ai(), everything()}) {
    RenderOptions options;
    options.color = true;
    const std::string colored = page(p, options);
    EXPECT_THAT(colored, HasSubstr("\x1b[38;5;16;48;5;"));
    std::string stripped;
    for (std::size_t i = 0; i < colored.size(); ++i) {
      if (colored[i] == '\x1b')
        i = colored.find('m', i);
      else
        stripped += colored[i];
    }
    EXPECT_EQ(stripped, page(p));
  }
}

TEST(RenderText, LargeMatricesAreElided) {
  GenerateOptions generated;
  generated.count = 200;
  EXPECT_THAT(page(generate(generated)), AllOf(HasSubstr("… 187 more │"), HasSubstr("… 19")));
}

TEST(RenderText, WhatIsMaskedAndWhatSeesNothing) {
  Problem p = i_love_ai();
  p.sequences[0].mask = Matrix(3, 3, {0, 0, 0, 1, 1, 0, 1, 1, 1});
  EXPECT_THAT(
      page(p),
      AllOf(HasSubstr("Masked scores (given mask)"), HasSubstr("│     −∞      −∞      −∞ │"),
            HasSubstr("│      ·       ·       · │"),
            HasSubstr("m₁₁ = −∞   (query of I, key of I: hidden by the given mask)"),
            HasSubstr("Row I sees no key: every weight is 0"), Not(HasSubstr("NaN"))));
}

TEST(RenderText, TheNaiveSoftmaxStandsBesideTheStableOneWhereItFails) {
  Problem p;
  p.scale = 1;
  Sequence s;
  s.q = {Matrix(1, 1, {1000})};
  s.k = {Matrix(2, 1, {1, 2})};
  s.v = {Matrix(2, 1, {3, 4})};
  p.sequences = {s};
  EXPECT_THAT(page(p),
              AllOf(HasSubstr("naive exp(z) │     ∞     ∞ │"),
                    HasSubstr("naive weight │   NaN   NaN │"), HasSubstr("exp(z) overflows to ∞")));
  p.sequences[0].q[0](0, 0) = -1000;
  EXPECT_THAT(page(p), HasSubstr("every exp(z) underflows to 0"));
}

TEST(RenderText, OneEntryWithItsRowAndColumnMarked) {
  const Trace t = trace(i_love_ai());
  RenderOptions options;
  options.at = parse_entry(t, "S[love,AI]");
  EXPECT_THAT(render_text(t, options),
              AllOf(HasSubstr("▸ love │ 1  1 │"), HasSubstr("▾ AI"),
                    HasSubstr("s₂₃ = q₂₁·k₃₁ + q₂₂·k₃₂ = 1·1 + 1·1 = 1 + 1 = 2"),
                    HasSubstr("used by entry 2,3 of Z")));
  const Trace u = trace(everything());
  options.at = parse_entry(u, "A[b,z] head 3");
  EXPECT_THAT(render_text(u, options), AllOf(HasSubstr("Attention weights, head 3"),
                                             HasSubstr("used by row 2 of O (head 3)"),
                                             HasSubstr("with the sink of score 0")));
}

TEST(RenderText, ViewsOfAProduct) {
  RenderOptions options;
  options.steps = {"out"};
  options.view = View::row;
  EXPECT_THAT(page(i_love_ai(), options),
              HasSubstr("  row AI of O =\n"
                        "      0.1400·[1, 2]  row I of V     ≈ [0.1400, 0.2801]\n"
                        "    + 0.2840·[0, 1]  row love of V  ≈ [0.0000, 0.2840]\n"
                        "    + 0.5760·[1, 3]  row AI of V    ≈ [0.5760, 1.7279]\n"
                        "    ≈ [0.7160, 2.2920]\n"));
  options.view = View::column;
  EXPECT_THAT(page(i_love_ai(), options), HasSubstr("column 2 of O ="));
  options.view = View::outer;
  EXPECT_THAT(page(i_love_ai(), options),
              AllOf(HasSubstr("O as a sum of 3 outer products:"),
                    HasSubstr("  + column love of A times row love of V ≈")));
}

TEST(RenderText, TheGraphOfEveryKindOfProblem) {
  EXPECT_THAT(page(selfish()), HasSubstr("      Q         K\n"
                                         "      └────┬────┴─────────┐\n"
                                         "         MatMul           │       S = Q·Kᵀ\n"));
  EXPECT_THAT(page(everything()), HasSubstr("      X             X_KV\n"
                                            "      │         ┌────┴────┐\n"
                                            "      Q         K         V"));
  Problem keys = i_love_ai();
  keys.values = Problem::Values::keys;
  keys.w_v.clear();
  EXPECT_THAT(page(keys), HasSubstr("           X\n"
                                    "      ┌────┴────┐\n"
                                    "      Q         K "));
  keys.sequences[0].context = keys.sequences[0].x;
  EXPECT_THAT(page(keys), HasSubstr("      X        X_KV\n"
                                    "      │         │\n"
                                    "      Q         K "));
}

TEST(RenderText, CountsOnlyTheParametersThereAre) {
  EXPECT_THAT(page(i_love_ai()), HasSubstr("d·(2m + l)·T = 2·(2·2 + 2)·1 = 12 in the heads"));
  Problem keys = i_love_ai();
  keys.values = Problem::Values::keys;
  keys.w_v.clear();
  EXPECT_THAT(page(keys), HasSubstr("d·2m·T = 2·2·2·1 = 8 in the heads"));
}

TEST(RenderText, NotesBesideTheGraphGoOnBelow) {
  RenderOptions options;
  options.width = 60;
  EXPECT_THAT(page(i_love_ai(), options),
              HasSubstr("      Q         K         V       Q = X·W_Q, K = X·W_K, V =\n"
                        "      │         │         │       X·W_V\n"));
  options.width = 44;
  EXPECT_THAT(page(i_love_ai(), options), HasSubstr("      Q         K         V\n"));
}

TEST(RenderText, AnEntryInTheMiddleOfALongMatrixIsShown) {
  Problem p;
  p.values = Problem::Values::none;
  Sequence s;
  s.q = {Matrix(100, 1, 1.0)};
  s.k = {Matrix(100, 1, 2.0)};
  p.sequences = {s};
  RenderOptions options;
  options.at = EntryName{"S", 0, 0, 49, 59};
  const std::string text = page(p, options);
  EXPECT_THAT(text, HasSubstr("… 39 more"));  // 11 … 49
  EXPECT_THAT(text, HasSubstr("▸ 50"));
  EXPECT_THAT(text, HasSubstr("… 47 more"));  // 51 … 97
  EXPECT_THAT(text, HasSubstr("▾ 60"));
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(RenderText, ManyPartsAreShortened) {
  Problem p;
  p.values = Problem::Values::none;
  Sequence s;
  s.q = {Matrix(1, 40, 1.0)};
  s.k = {Matrix(2, 40, 2.0)};
  p.sequences = {s};
  RenderOptions options;
  for (const View view : {View::row, View::outer}) {
    options.view = view;
    options.detail = Detail::normal;
    EXPECT_THAT(page(p, options), HasSubstr("+ … 28 more\n"));
    options.detail = Detail::full;
    EXPECT_THAT(page(p, options), Not(HasSubstr("+ … ")));
  }
}

TEST(RenderText, TheKernelIsComparedInWords) {
  const Trace t = trace(i_love_ai());
  RenderOptions options;
  options.detail = Detail::full;
  KernelResult result;
  result.ulps = 1;
  result.where = "O[1,1]";
  options.kernel = KernelComparison{"prefill, AVX2", {result}};
  EXPECT_THAT(render_text(t, options),
              AllOf(HasSubstr("O: the fast kernel (prefill, AVX2, float) is at most 1 ulp"),
                    HasSubstr("log-sum-exp ≈"), HasSubstr("0.70710678118654746")));
}

TEST(RenderText, SequencesAdvanceTogetherUnlessOneIsAskedFor) {
  EXPECT_THAT(page(selfish()), HasSubstr("Sequence 2 of 2\n\n  Q  query ↓"));
  RenderOptions options;
  options.batch = 1;
  EXPECT_THAT(page(selfish(), options),
              AllOf(HasSubstr("═══ Sequence 2 of 2 ═"), Not(HasSubstr("Sequence 1 of 2"))));
  Problem uneven = selfish();
  uneven.sequences[1].key_length = 2;  // one takes a step that the other does not
  EXPECT_THAT(page(uneven), HasSubstr("═══ Sequence 1 of 2 ═"));
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_THAT(wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("unbreakable", 4), ElementsAre("unbreakable"));
  EXPECT_THAT(wrapped("", 4), ElementsAre());
}

}  // namespace
}  // namespace heed::explain
