#include "heed/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "heed/reference.h"
#include "trace/steps.h"
#include "trace/test_problems.h"

namespace heed::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ids_of(const Trace& t) {
  std::vector<std::string> ids;
  for (const Node& node : t.nodes) ids.push_back(node.id);
  return ids;
}

bool same(const Matrix& a, const Matrix& b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    if (a.values[i] != b.values[i] && !(std::isnan(a.values[i]) && std::isnan(b.values[i])))
      return false;
  return true;
}

TEST(Trace, HasOnlyTheNodesTheProblemHas) {
  EXPECT_THAT(ids_of(trace(i_love_ai())),
              ElementsAre("X", "W_Q", "W_K", "W_V", "Q", "K", "V", "S", "Z", "A", "O"));
  EXPECT_THAT(ids_of(trace(selfish())),
              ElementsAre("Q", "K", "S", "A", "O", "Q", "K", "S", "A", "O"));
  const auto ids = ids_of(trace(everything()));
  const std::set<std::string> all(ids.begin(), ids.end());
  EXPECT_THAT(
      all, ElementsAre("A", "B", "C", "K", "M", "O", "Q", "S", "V", "W_K", "W_O", "W_Q", "W_V", "X",
                       "X_KV", "Y", "Z", "Z_bias", "Z_cap", "b_K", "b_O", "b_Q", "b_V"));
}

TEST(Trace, InputsComeBeforeWhatIsMadeOfThem) {
  const Trace t = trace(everything());
  for (const Node& node : t.nodes)
    for (std::size_t which = 0; which < input_count(t, node); ++which)
      EXPECT_LT(&t.input(node, which), &node) << node.id;
}

TEST(Trace, ReproducesILoveAi) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(t.at("Q").values, Matrix(3, 2, {1, 0, 1, 1, 2, 1}));
  EXPECT_EQ(t.at("S").values, Matrix(3, 3, {0, 1, 1, 1, 1, 2, 1, 2, 3}));
  EXPECT_NEAR(t.at("O").values(2, 1), 2.291980, 1e-6);
}

// The step functions, fed the trace's own inputs, give the reference's numbers to the last bit.
TEST(Trace, EveryStepFollowsFromItsInputs) {
  for (const Problem& p : {i_love_ai(), everything(), selfish()}) {
    const Trace t = trace(p);
    for (const Node& node : t.nodes) {
      std::vector<const Matrix*> inputs;
      for (std::size_t which = 0; which < input_count(t, node); ++which)
        inputs.push_back(&t.input(node, which).values);
      EXPECT_TRUE(same(evaluate(t, node, inputs), node.values)) << node.id << " " << node.head;
    }
  }
}

// The layer of the reference, which projects by itself, gives the same to the last bit.
TEST(Trace, AgreesWithTheMultiHeadReference) {
  const Problem p = everything();
  const Trace t = trace(p);
  const auto packed = [](const std::vector<Matrix>& heads) {
    std::vector<double> values;
    for (const Matrix& m : heads) values.insert(values.end(), m.values.begin(), m.values.end());
    return values;
  };
  const auto wq = packed(p.w_q), wk = packed(p.w_k), wv = packed(p.w_v);
  const auto bq = packed(p.b_q), bk = packed(p.b_k), bv = packed(p.b_v);
  reference::Weights w;
  w.w_q = bhnd(wq.data(), 1, 4, 2, 2);
  w.w_k = bhnd(wk.data(), 1, 2, 3, 2);
  w.w_v = bhnd(wv.data(), 1, 2, 3, 1);
  w.b_q = bhnd(bq.data(), 1, 4, 1, 2);
  w.b_k = bhnd(bk.data(), 1, 2, 1, 2);
  w.b_v = bhnd(bv.data(), 1, 2, 1, 1);
  w.w_o = bhnd(p.w_o.values.data(), 1, 1, 4, 2);
  w.b_o = bhnd(p.b_o.values.data(), 1, 1, 1, 2);
  const Sequence& s = p.sequences[0];
  AttentionOptions options;
  options.scale = p.scale;
  options.softcap = p.softcap;
  options.causal = p.causal;
  options.window_left = p.window_left;
  options.alibi_slopes = p.alibi_slopes;
  options.sinks = p.sinks;
  options.bias = scores(s.bias.values.data(), 1, 1, 2, 3);
  const auto layer = reference::multi_head<double>(
      bhnd(s.x.values.data(), 1, 1, 2, 2), bhnd(s.context.values.data(), 1, 1, 3, 3), w, options);
  EXPECT_EQ(layer.concat.values, t.at("C").values.values);
  EXPECT_EQ(layer.y.values, t.at("Y").values.values);
  EXPECT_EQ(t.sizes.head_parameters, reference::parameter_count(w).heads);
  EXPECT_EQ(t.sizes.output_parameters, reference::parameter_count(w).output);
  EXPECT_EQ(t.sizes.bias_parameters, reference::parameter_count(w).biases);
}

TEST(Trace, FindsByQueryHead) {
  const Trace t = trace(everything());
  EXPECT_EQ(&t.at("K", 0, 0), &t.at("K", 0, 1));
  EXPECT_NE(&t.at("K", 0, 1), &t.at("K", 0, 2));
  EXPECT_EQ(&t.at("X", 0, 3), &t.at("X"));
  EXPECT_EQ(&t.input(t.at("S", 0, 3), 1), &t.at("K", 0, 2));
  EXPECT_EQ(&t.input(t.at("K", 0, 2), 1), &t.at("W_K", 0, 2));
  EXPECT_EQ(&t.input(t.at("C"), 3), &t.at("O", 0, 3));
  EXPECT_EQ(t.find("nothing"), nullptr);
  EXPECT_EQ(&t.output(), &t.at("Y"));
  EXPECT_EQ(t.offsets, std::vector<std::int64_t>{1});  // lower_right: three keys, two queries
}

TEST(Trace, NamesWhatThereIs) {
  const Trace t = trace(i_love_ai());
  EXPECT_EQ(error_of([&] { t.at("M"); }),
            "there is no M; there are X, W_Q, W_K, W_V, Q, K, V, S, Z, A, O");
  EXPECT_EQ(error_of([&] { t.at("S", 1); }), "S: there is no batch row 2; there are 1");
  EXPECT_EQ(error_of([&] { t.at("S", 0, 4); }), "S: there is no head 5; there are 1");
}

TEST(Trace, SaysWhatHidesAKey) {
  const Trace t = trace(everything());
  EXPECT_EQ(hidden_by(t, 0, 0, 2), "causal mask");
  EXPECT_EQ(hidden_by(t, 0, 1, 0), "window");
  EXPECT_EQ(hidden_by(t, 0, 1, 1), "");
  Problem p = i_love_ai();
  p.sequences[0].key_length = 2;
  p.sequences[0].mask = Matrix(3, 3, {0, 1, 1, 1, 1, 1, 1, 1, 1});
  p.sequences[0].bias = Matrix(1, 3, {0, -std::numeric_limits<double>::infinity(), 0});
  p.window_left = 1;
  p.window_right = 0;
  p.query_offset = 1;
  const Trace u = trace(p);
  EXPECT_EQ(hidden_by(u, 0, 1, 2), "padding mask");
  EXPECT_EQ(hidden_by(u, 0, 0, 0), "given mask");
  EXPECT_EQ(hidden_by(u, 0, 0, 1), "bias of −∞");
  EXPECT_EQ(hidden_by(u, 0, 2, 1), "window");
}

TEST(Trace, ARowThatSeesNothingIsZeroAndNotNaN) {
  Problem p = i_love_ai();
  p.sequences[0].mask = Matrix(3, 3, {0, 0, 0, 1, 1, 1, 1, 1, 1});
  const Trace t = trace(p);
  EXPECT_EQ(t.at("A").values(0, 1), 0);
  EXPECT_EQ(t.at("O").values(0, 1), 0);
  EXPECT_EQ(t.at("M").values(0, 1), -std::numeric_limits<double>::infinity());
  const SoftmaxRow row = softmax_row(t, 0, 0, 0);
  EXPECT_TRUE(row.fully_masked);
  EXPECT_FALSE(row.naive_fails);
  EXPECT_EQ(row.lse, -std::numeric_limits<double>::infinity());
}

TEST(Trace, WithoutValuesTheWeightsAreTheEnd) {
  Problem p;
  p.values = Problem::Values::none;
  Sequence s;
  s.q = {Matrix(2, 1, {1, 2})};
  s.k = {Matrix(3, 1, {1, 2, 3})};
  p.sequences = {s};
  const Trace t = trace(p);
  EXPECT_EQ(t.output().id, "A");
  EXPECT_EQ(t.sizes.l, 0u);
  EXPECT_EQ(t.at("S").row_labels, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(t.at("S").col_labels, (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Trace, OneHeadWithAnOutputMatrixNeedsNoConcat) {
  Problem p = i_love_ai();
  p.w_o = Matrix(2, 1, {1, 1});
  const Trace t = trace(p);
  EXPECT_EQ(t.find("C"), nullptr);
  EXPECT_EQ(t.at("Y").inputs, (std::vector<std::string>{"O", "W_O"}));
}

TEST(Trace, OpsAndStepsHaveNames) {
  const Trace t = trace(everything());
  std::set<std::string> keys;
  for (const Node& node : t.nodes) {
    const StepText text = describe(t, node);
    EXPECT_FALSE(text.title.empty() || text.why.empty() || text.shapes.empty()) << node.id;
    EXPECT_THAT(text.formula, HasSubstr(node.id == "M" ? "M" : node.id));
    EXPECT_FALSE(text.latex.empty());
    EXPECT_NE(name_of(node.op), "?");
    keys.insert(text.key);
  }
  EXPECT_THAT(keys, ElementsAre("bias", "concat", "k", "mask", "out", "q", "scale", "scores",
                                "softcap", "softmax", "v", "w", "wo", "x"));
  EXPECT_EQ(describe(t, t.at("M")).title,
            "Masked scores (causal mask, window, padding mask, given mask and bias of −∞)");
  EXPECT_EQ(describe(t, t.at("Z_bias")).formula, "Z_bias = Z_cap + B − 0.5·|i + 1 − j|");
  EXPECT_EQ(describe(t, t.at("C")).formula, "C = [O1 O2 O3 O4]");
}

TEST(Trace, TheGraphIsThatOfOneHead) {
  std::vector<std::string> labels;
  for (const GraphNode& node : graph(trace(everything()))) labels.push_back(node.label);
  EXPECT_THAT(labels,
              ElementsAre("X", "X_KV", "W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "Linear", "Linear",
                          "Linear", "MatMul", "Scale", "Soft cap", "B", "Bias",
                          "Mask (causal mask, window, padding mask, given mask and bias of −∞)",
                          "SoftMax", "MatMul", "Concat", "W_O", "b_O", "Linear"));
}

}  // namespace
}  // namespace heed::explain
