#include "heed/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heed/trace.h"
#include "trace/test_problems.h"

namespace heed::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What validate() says of a problem after `change`.
template <class F>
std::string refusal(Problem p, F change) {
  change(p);
  return error_of([&] { validate(p); });
}

TEST(Validate, AcceptsWhatIsWhole) {
  for (const Problem& p : {i_love_ai(), everything(), selfish()}) EXPECT_NO_THROW(validate(p));
}

TEST(Validate, NamesTheMatrixAndBothValues) {
  const Problem ok = i_love_ai();
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences.clear(); }),
            "problem: has no tokens; give x, or q and k, or tokens");
  EXPECT_EQ(refusal(ok,
                    [](Problem& p) {
                      p.w_k[0] = Matrix(3, 2);
                      p.lines["W_K"] = 7;
                      p.w_v[0] = Matrix(3, 2);
                    }),
            "X: has 2 columns, expected 3, the rows of W_K");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_q[0] = Matrix(3, 2); }),
            "X: has 2 columns, expected 3, the rows of W_Q");
  EXPECT_EQ(refusal(ok,
                    [](Problem& p) {
                      p.w_k[0] = Matrix(2, 3);
                      p.lines["W_K"] = 7;
                    }),
            "W_K: has 3 columns, expected 2, like W_Q: a query and a key are multiplied (line 7)");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_v[0] = Matrix(1, 2); }),
            "W_V: has 1 row, expected 2, like W_K: both multiply the same rows");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_v.clear(); }),
            "W_V: there are 0, expected 1, one per key/value head");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_q[0].values.pop_back(); }),
            "W_Q: is 2 by 2 but has 3 values");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_k[0] = {}; }), "W_K: is empty");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.b_q = {Matrix(1, 3)}; }),
            "b_Q: has 3 columns, expected 2, the columns of its W");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_o = Matrix(3, 2); }),
            "W_O: has 3 rows, expected 2, heads times the columns of V");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.b_o = Matrix(1, 2); }), "b_O: given without W_O");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].tokens.pop_back(); }),
            "tokens: there are 2 for 3 queries");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].context_tokens = {"a"}; }),
            "context_tokens: there are 1 for 3 keys");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].mask = Matrix(2, 3); }),
            "mask: has 2 rows, expected 3, one per query");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].mask = Matrix(3, 3, 0.5); }),
            "mask: holds 0.5, expected 1 (attend) or 0 (hidden)");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].bias = Matrix(1, 2); }),
            "bias: has 2 columns, expected 3, one per key");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].key_length = 4; }),
            "key_length: is 4 but there are 3 keys");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].x = {}; }),
            "X: is missing; give x, or q and k");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].q = {Matrix(3, 2)}; }),
            "X: given together with q and k");
}

TEST(Validate, HeadsAndBatches) {
  const Problem ok = everything();
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.kv_heads = 3; }),
            "kv_heads: 4 heads are not a multiple of 3 key/value heads");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.heads = 0; }), "heads: is 0, expected at least 1");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_q[2] = Matrix(2, 1); }),
            "W_Q of head 3: has 1 column, expected 2, like head 1");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.b_k.pop_back(); }),
            "b_K: there are 1, expected 2, one per head");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.alibi_slopes.pop_back(); }),
            "alibi_slopes: there are 3 for 4 heads");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sinks = {1.0f}; }), "sinks: there are 1 for 4 heads");
  Problem two = i_love_ai();
  two.sequences.push_back(two.sequences[0]);
  EXPECT_EQ(refusal(two, [](Problem& p) { p.sequences[1].x = Matrix(3, 3); }),
            "X of batch row 2: has 3 columns, expected 2, the rows of W_Q");
  EXPECT_EQ(refusal(two,
                    [](Problem& p) {
                      p.sequences[1].x = {};
                      p.sequences[1].q = {Matrix(3, 2)};
                    }),
            "X of batch row 2: every sequence needs the same kind of input");
}

TEST(Validate, GivenQueriesKeysAndValues) {
  const Problem ok = selfish();
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].k[0] = Matrix(4, 2); }),
            "K of batch row 1: has 2 columns, expected 3, the columns of Q: a query and a key are "
            "multiplied");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.values = Problem::Values::projected; }),
            "V of batch row 1: there are 0, expected 1, one per key/value head");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.w_q = {Matrix(3, 3)}; }),
            "W_Q: weights need x, but q and k are given");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.sequences[0].context = Matrix(1, 1); }),
            "X_KV of batch row 1: a context needs x, not q and k");
  EXPECT_EQ(refusal(ok,
                    [](Problem& p) {
                      p.values = Problem::Values::none;
                      p.w_o = Matrix(3, 3);
                    }),
            "W_O: there are no values to multiply");
}

TEST(Validate, Options) {
  const Problem ok = i_love_ai();
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.scale = NAN; }),
            "scale: is nan, expected a finite number");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.softcap = 0; }),
            "softcap: is 0, expected a finite number above 0");
  EXPECT_EQ(refusal(ok, [](Problem& p) { p.window_right = -1; }),
            "window_right: is -1, expected at least 0");
}

TEST(Validate, RefusesWhatIsTooLargeToShow) {
  Problem p;
  p.values = Problem::Values::none;
  Sequence s;
  s.q = {Matrix(6000, 1)};
  s.k = {Matrix(6000, 1)};
  p.sequences = {s};
  EXPECT_EQ(error_of([&] { validate(p); }),
            "problem: its score matrices would hold 216,000,000 numbers, more than the 33,554,432 "
            "that can be shown entry by entry");
}

TEST(Origin, IsSaidInWords) {
  EXPECT_EQ(describe(Origin{}), "typed");
  EXPECT_EQ(describe(Origin{Origin::Kind::imported, 0}), "imported");
  EXPECT_EQ(describe(Origin{Origin::Kind::generated, 7}), "generated (seed 7), not learned");
}

TEST(Generate, TheSameSeedGivesTheSameNumbers) {
  GenerateOptions options;
  options.tokens = {"the", "cat", "the"};
  const Problem a = generate(options), b = generate(options);
  EXPECT_EQ(a.sequences[0].x, b.sequences[0].x);
  EXPECT_EQ(a.w_q, b.w_q);
  options.seed = 8;
  EXPECT_NE(generate(options).w_q, a.w_q);
  for (std::size_t j = 0; j < 4; ++j)  // the same word, the same embedding
    EXPECT_EQ(a.sequences[0].x(0, j), a.sequences[0].x(2, j));
  EXPECT_EQ(describe(a.inputs), "generated (seed 7), not learned");
}

TEST(Generate, SmallProblemsAreExactInFourDecimals) {
  GenerateOptions options;
  options.count = 5;
  const Trace t = trace(generate(options));
  for (const double s : t.at("S").values.values) EXPECT_EQ(s * 16, std::trunc(s * 16));
}

TEST(Generate, LargeProblemsAreOfUnitSize) {
  GenerateOptions options;
  options.count = 5;
  options.dim = 512;
  const Trace t = trace(generate(options));
  double squares = 0;
  for (const double q : t.at("Q").values.values) squares += q * q;
  // x is uniform in [-1, 1] (variance 1/3) and W has variance 1/512: so has q. 2,560 draws.
  EXPECT_NEAR(squares / 2560, 1.0 / 3, 0.05);
}

TEST(Generate, HeadsGetAnOutputMatrix) {
  GenerateOptions options;
  options.count = 2;
  options.heads = 2;
  const Problem p = generate(options);
  EXPECT_EQ(p.w_q.size(), 2u);
  EXPECT_EQ(p.w_q[0].cols, 2u);
  EXPECT_EQ(p.w_o.rows, 4u);
  options.x = Matrix(3, 2, {1, 2, 3, 4, 5, 6});
  const Problem typed = generate(options);
  EXPECT_EQ(typed.sequences[0].x, *options.x);
  EXPECT_EQ(describe(typed.inputs), "typed");
  EXPECT_EQ(describe(typed.weights), "generated (seed 7), not learned");
}

TEST(Generate, Refuses) {
  GenerateOptions options;
  EXPECT_EQ(error_of([&] { generate(options); }), "generate: there are no tokens");
  options.count = 2;
  options.heads = 3;
  EXPECT_EQ(error_of([&] { generate(options); }),
            "generate: dimension 4 cannot be shared out to 3 heads");
  options.dim = 0;
  EXPECT_EQ(error_of([&] { generate(options); }), "generate: the dimension is 0");
  options = {};
  options.count = 2;
  options.dim = std::size_t{1} << 40;
  EXPECT_THAT(error_of([&] { generate(options); }), HasSubstr("are more than can be shown"));
  EXPECT_EQ(error_of([&] { generate_embeddings({}, 4, 7); }), "generate: there are no tokens");
  EXPECT_EQ(error_of([&] { generate_embeddings({"a"}, 0, 7); }), "generate: the dimension is 0");
  EXPECT_THAT(error_of([&] { generate_embeddings({"a"}, std::size_t{1} << 40, 7); }),
              HasSubstr("more than can be shown"));
}

TEST(Words, AreSeparatedByWhiteSpace) {
  EXPECT_THAT(split_words("  I\tlove \n AI "), ElementsAre("I", "love", "AI"));
  EXPECT_THAT(split_words(" "), ElementsAre());
}

TEST(Heads, AreSharedOutAnew) {
  Problem p = i_love_ai();
  set_heads(p, 2);
  EXPECT_EQ(p.w_q[0], Matrix(2, 1, {1, 1}));
  EXPECT_EQ(p.w_q[1], Matrix(2, 1, {0, 1}));
  const Trace t = trace(p);
  EXPECT_EQ(t.at("C").values.cols, 2u);
  set_heads(p, 1);
  EXPECT_EQ(p.w_q, i_love_ai().w_q);
  EXPECT_EQ(error_of([&] { set_heads(p, 3); }),
            "heads: W_Q has 2 columns, which cannot be shared out to 3 heads");
  EXPECT_EQ(error_of([&] { set_heads(p, 0); }), "heads: is 0, expected at least 1");
  Problem grouped = everything();
  EXPECT_THAT(error_of([&] { set_heads(grouped, 2); }), HasSubstr("2 key/value heads for 4 heads"));
}

TEST(EntryName, ByNumberAndByToken) {
  const Trace t = trace(i_love_ai());
  const EntryName s = parse_entry(t, "S[2,3]");
  EXPECT_EQ(s.id, "S");
  EXPECT_EQ(s.row, 1u);
  EXPECT_EQ(s.col, 2u);
  EXPECT_EQ(parse_entry(t, "S[love, AI]").col, 2u);
  EXPECT_EQ(parse_entry(t, " V [love,1]").row, 1u);
  EXPECT_EQ(
      error_of([&] { parse_entry(t, "S[4,1]"); }),
      "entry: there is no S[4,1]; S has rows 1 to 3 or I to AI and columns 1 to 3 or I to AI");
  EXPECT_THAT(error_of([&] { parse_entry(t, "V[1,3]"); }), HasSubstr("columns 1 to 2"));
  EXPECT_THAT(error_of([&] { parse_entry(t, "S[2]"); }), HasSubstr("there is no S[2]"));
  EXPECT_THAT(error_of([&] { parse_entry(t, "S"); }), HasSubstr("expected S[2,3]"));
  EXPECT_THAT(error_of([&] { parse_entry(t, "S]2,3["); }), HasSubstr("expected S[2,3]"));
  EXPECT_THAT(error_of([&] { parse_entry(t, "M[1,1]"); }), HasSubstr("there is no M"));
  EXPECT_THAT(error_of([&] { parse_entry(t, "S[1,1] had 2"); }), HasSubstr("cannot read"));
  EXPECT_THAT(error_of([&] { parse_entry(t, "S[1,1] head"); }), HasSubstr("cannot read"));
}

TEST(EntryName, OfAHeadAndABatchRow) {
  const Trace t = trace(everything());
  EXPECT_EQ(parse_entry(t, "S[b,z] head 3").head, 2u);
  const Trace u = trace(selfish());
  EXPECT_EQ(parse_entry(u, "O[1,2] batch 2").batch, 1u);
  EXPECT_EQ(parse_entry(u, "O[query,2]", 1).batch, 1u);
  EXPECT_THAT(error_of([&] { parse_entry(u, "O[1,2] batch 3"); }), HasSubstr("no batch row 3"));
  Problem p = i_love_ai();
  p.sequences[0].tokens = {"a,b", "c", "c"};
  const Trace v = trace(p);
  EXPECT_EQ(parse_entry(v, "S[a,b,c#2]").col, 2u);
}

}  // namespace
}  // namespace heed::explain
