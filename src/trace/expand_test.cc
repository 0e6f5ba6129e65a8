#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heed/trace.h"
#include "trace/expression.h"
#include "trace/steps.h"
#include "trace/test_problems.h"

namespace heed::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "s₂₃ = q₂₁·k₃₁ + ... = 2", the whole working on one line.
std::string working(const Trace& t, const Node& node, std::size_t i, std::size_t j,
                    const ExpandOptions& options = {}, const NumberStyle& style = {}) {
  const Expansion e = expand(t, node, i, j, options);
  std::string text = to_text(e.symbol, style);
  for (const WorkedLine& line : worked_lines(e, style))
    text += (line.exact ? " = " : " ≈ ") + to_text(*line.right, style);
  return text;
}

TEST(Expand, AProductInSymbolsAndNumbers) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(working(t, t.at("S"), 1, 2), "s₂₃ = q₂₁·k₃₁ + q₂₂·k₃₂ = 1·1 + 1·1 = 1 + 1 = 2");
  EXPECT_EQ(working(t, t.at("Q"), 2, 0), "q₃₁ = x₃₁·w₁₁ + x₃₂·w₂₁ = 1·1 + 1·1 = 1 + 1 = 2");
  EXPECT_EQ(working(t, t.at("O"), 0, 0),
            "o₁₁ = a₁₁·v₁₁ + a₁₂·v₂₁ + a₁₃·v₃₁ ≈ 0.1978·1 + 0.4011·0 + 0.4011·1 ≈ 0.1978 + 0 + "
            "0.4011 ≈ 0.5989");
  EXPECT_EQ(expand(t, t.at("S"), 1, 2).reading, "query of love, key of AI");
  EXPECT_EQ(expand(t, t.at("V"), 1, 0).reading, "love, column 1");
  EXPECT_EQ(expand(t, t.at("W_V"), 1, 0).reading, "row 2, column 1");
  EXPECT_EQ(expand(t, t.at("W_V"), 1, 0).note, "given");
}

// The notes' own entries: "query of token 1, key of token 2".
TEST(Expand, UnnamedTokensAreCounted) {
  Problem p;
  p.values = Problem::Values::none;
  Sequence s;
  s.q = {Matrix(2, 2, {1, 2, 3, 4})};
  s.k = {Matrix(2, 2, {5, 6, 7, -8})};
  p.sequences = {s};
  const Trace t = trace(p);
  EXPECT_EQ(working(t, t.at("S"), 0, 1), "s₁₂ = q₁₁·k₂₁ + q₁₂·k₂₂ = 1·7 + 2·(−8) = 7 − 16 = −9");
  EXPECT_EQ(expand(t, t.at("S"), 0, 1).reading, "query of token 1, key of token 2");
  EXPECT_EQ(expand(trace(selfish()), trace(selfish()).at("S"), 0, 1).reading,
            "the query, key of token 2");
}

TEST(Expand, ScalingAndSoftmax) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(working(t, t.at("Z"), 2, 2), "z₃₃ = s₃₃ / √2 ≈ 3 / 1.4142 ≈ 2.1213");
  EXPECT_EQ(working(t, t.at("A"), 0, 1),
            "a₁₂ = e^(z₁₂ − max₁) / sum₁ ≈ e^(0.7071 − 0.7071) / 2.4931 ≈ 1 / 2.4931 ≈ 0.4011");
}

TEST(Expand, EveryOtherStep) {
  const Trace t = trace(everything());
  EXPECT_EQ(working(t, t.at("Z", 0, 1), 0, 0), "z₁₁ = s₁₁·0.7 = 0.18·0.7 = 0.126");
  EXPECT_THAT(working(t, t.at("Z_cap"), 0, 0),
              HasSubstr("t₁₁ = 3·tanh(z₁₁ / 3) = 3·tanh(−0.315 / 3) ≈ −0.3138"));
  EXPECT_THAT(working(t, t.at("Z_bias"), 1, 1), HasSubstr("u₂₂ = t₂₂ + b₂₂ − slope·|3 − 2| ≈ "));
  EXPECT_THAT(working(t, t.at("M"), 0, 1), HasSubstr("m₁₂ = u₁₂ ≈ "));
  EXPECT_EQ(working(t, t.at("M"), 0, 2), "m₁₃ = −∞");
  EXPECT_EQ(expand(t, t.at("M"), 0, 2).note, "hidden by the causal mask");
  EXPECT_EQ(expand(t, t.at("M"), 0, 1).note, "visible");
  EXPECT_EQ(expand(t, t.at("A"), 0, 2).note, "hidden by the causal mask");
  EXPECT_THAT(working(t, t.at("C"), 0, 3), HasSubstr("c₁₄ = o₁₁ ≈ "));
  EXPECT_EQ(expand(t, t.at("C"), 0, 3).note, "column 1 of head 4");
  EXPECT_THAT(working(t, t.at("Y"), 0, 1), HasSubstr(" + c₁₄·w₄₂ + b₂ ≈ "));
  EXPECT_THAT(working(t, t.at("O"), 1, 0), HasSubstr("o₂₁ = a₂₂·v₂₁ + a₂₃·v₃₁ ≈ "));  // no a₂₁
  EXPECT_THAT(working(t, t.at("K"), 0, 0), HasSubstr("k₁₁ = x'₁₁·w₁₁ + "));
}

TEST(Expand, ARowThatSeesNothingSaysSo) {
  Problem p = i_love_ai();
  p.sequences[0].mask = Matrix(3, 3, {0, 0, 0, 1, 1, 1, 1, 1, 1});
  const Trace t = trace(p);
  EXPECT_EQ(expand(t, t.at("A"), 0, 0).note, "no visible key: every weight of the row is 0");
  EXPECT_EQ(expand(t, t.at("O"), 0, 0).note, "no visible key: the row is 0");
  EXPECT_EQ(working(t, t.at("O"), 0, 0), "o₁₁ = 0");
}

// What is printed as products adds up, in that order, to the value that is printed.
TEST(Expand, TermsSumToTheValue) {
  for (const Problem& p : {i_love_ai(), everything(), selfish()}) {
    const Trace t = trace(p);
    for (const Node& node : t.nodes)
      for (std::size_t i = 0; i < node.values.rows; ++i)
        for (std::size_t j = 0; j < node.values.cols; ++j) {
          const Expansion e = expand(t, node, i, j);
          EXPECT_EQ(e.value, node.values(i, j));
          if (node.op != Op::matmul) continue;
          double sum = 0;
          for (const Term& term : e.terms) {
            EXPECT_EQ(term.product, term.a * term.b);
            sum += term.product;
          }
          EXPECT_EQ(sum, e.value) << node.id << i << j;
        }
  }
}

TEST(Expand, LongSumsAreShortened) {
  Problem p;
  p.values = Problem::Values::none;
  Sequence s;
  s.q = {Matrix(1, 12, 1.0)};
  s.k = {Matrix(1, 12, 2.0)};
  p.sequences = {s};
  const Trace t = trace(p);
  EXPECT_EQ(working(t, t.at("S"), 0, 0, {.max_terms = 4}),
            "s₁₁ = q₁₁·k₁₁ + q₁₂·k₁₂ + … + q₁,₁₂·k₁,₁₂ = 1·2 + 1·2 + … + 1·2 = 2 + 2 + … + 2 = 24");
  EXPECT_EQ(expand(t, t.at("S"), 0, 0, {.max_terms = 4}).terms.size(), 12u);
}

TEST(Expand, SaysWhereAnEntryIsUsed) {
  const auto uses = [](const Trace& t, const Node& node, std::size_t i, std::size_t j) {
    std::vector<std::string> where;
    for (const Use& use : expand(t, node, i, j).used_by) where.push_back(use.where);
    return where;
  };
  const Trace t = trace(i_love_ai());
  EXPECT_THAT(uses(t, t.at("X"), 1, 0), ElementsAre("row 2 of Q", "row 2 of K", "row 2 of V"));
  EXPECT_THAT(uses(t, t.at("W_K"), 1, 0), ElementsAre("column 1 of K"));
  EXPECT_THAT(uses(t, t.at("K"), 1, 0), ElementsAre("column 2 of S"));
  EXPECT_THAT(uses(t, t.at("S"), 1, 2), ElementsAre("entry 2,3 of Z"));
  EXPECT_THAT(uses(t, t.at("Z"), 1, 2), ElementsAre("row 2 of A"));
  EXPECT_THAT(uses(t, t.at("O"), 1, 1), ElementsAre());
  const Trace u = trace(everything());
  EXPECT_THAT(uses(u, u.at("O", 0, 2), 1, 0), ElementsAre("entry 2,3 of C"));
  EXPECT_THAT(uses(u, u.at("b_O"), 0, 1), ElementsAre("column 2 of Y"));
}

TEST(Expand, RefusesAnEntryThatIsNotThere) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(error_of([&] { expand(t, t.at("S"), 3, 0); }), "S[4,1]: it has 3 rows and 3 columns");
}

TEST(Expression, LatexAndAscii) {
  const Trace t = trace(i_love_ai());
  const Expansion e = expand(t, t.at("A"), 0, 1);
  EXPECT_EQ(to_latex(e.symbols, {}), "\\frac{e^{z_{12} - \\mathrm{max}_{1}}}{\\mathrm{sum}_{1}}");
  EXPECT_EQ(to_text(e.symbols, {.ascii = true}), "e^(z_12 - max_1) / sum_1");
  const Expansion z = expand(t, t.at("Z"), 0, 1);
  EXPECT_EQ(to_latex(z.symbols, {}), "\\frac{s_{12}}{\\sqrt{2}}");
  EXPECT_EQ(to_text(z.symbols, {.ascii = true}), "s_12 / sqrt(2)");
  EXPECT_EQ(to_latex(expand(t, t.at("Q"), 0, 1).symbols, {}),
            "x_{11} \\cdot w_{12}^{Q} + x_{12} \\cdot w_{22}^{Q}");
}

TEST(Expression, ParenthesesWhereTheyAreNeeded) {
  const NumberStyle style;
  EXPECT_EQ(to_text(product(number(-2), number(-3)), style), "−2·(−3)");
  EXPECT_EQ(to_text(sum({number(1), product(number(-2), number(3)), number(-4)}), style),
            "1 + (−2)·3 − 4");
  EXPECT_EQ(to_text(negative(sum({number(1), number(2)})), style), "−(1 + 2)");
  EXPECT_EQ(to_text(sum({number(5), negative(number(-2))}), style), "5 − (−2)");
  EXPECT_EQ(to_text(quotient(sum({number(1), number(2)}), quotient(number(1), number(2))), style),
            "(1 + 2) / (1 / 2)");
  EXPECT_EQ(to_text(root(sum({number(1), number(2)})), style), "√(1 + 2)");
  EXPECT_EQ(to_text(root(sum({number(1), number(2)})), {.ascii = true}), "sqrt(1 + 2)");
  EXPECT_EQ(to_text(exponential(number(2)), style), "e^2");
  EXPECT_EQ(to_text(exponential(number(-2)), style), "e^(−2)");
  EXPECT_EQ(to_text(absolute(negative(symbol("x"))), style), "|−x|");
  EXPECT_EQ(to_text(words("given"), style), "given");
  EXPECT_EQ(to_latex(sum({words("given"), ellipsis(3), call("tanh", number(1e-9))}), style),
            "\\text{given} + \\cdots + \\tanh\\left(1 \\times 10^{-9}\\right)");
  EXPECT_EQ(to_latex(number(-INFINITY), style), "-\\infty");
  EXPECT_EQ(to_latex(number(INFINITY), style), "\\infty");
  EXPECT_EQ(to_latex(number(NAN), style), "\\mathrm{NaN}");
  EXPECT_EQ(to_latex(product(number(-2), number(-3)), style), "-2 \\cdot \\left(-3\\right)");
}

}  // namespace
}  // namespace heed::explain
