// Problem files as people write them, well and badly.
#include "heed/problem.h"

#include <cmath>

#include "heed/trace.h"
#include "io/json.h"
#include "io/test_support.h"

namespace heed::explain {
namespace {

using io::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

// i-love-ai with more or other keys before the closing brace.
std::string with(std::string_view more) {
  return R"({"tokens": ["I", "love", "AI"], "x": [[1, 0], [0, 1], [1, 1]],
"w_q": [[1, 0], [1, 1]], "w_k": [[0, 1], [1, 0]], "w_v": [[1, 2], [0, 1]])" +
         std::string(more.empty() ? "" : ", ") + std::string(more) + "}";
}

std::string refusal(std::string_view json) {
  return error_of([&] { parse_problem(json); });
}

TEST(ProblemFile, ReadsWhatItSays) {
  const Problem p = parse_problem(with(R"("title": "I love AI", "scale": 0.5, "softcap": 30,
    "causal": "lower_right", "window_left": 2, "window_right": 1, "query_offset": -1,
    "alibi_slopes": [0.5], "sinks": [0], "bias": [0, "-inf", 1], "key_length": 2)"));
  EXPECT_EQ(p.title, "I love AI");
  EXPECT_THAT(p.sequences[0].tokens, ElementsAre("I", "love", "AI"));
  EXPECT_EQ(p.sequences[0].x, Matrix(3, 2, {1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(p.w_v[0], Matrix(2, 2, {1, 2, 0, 1}));
  EXPECT_EQ(p.scale, 0.5);
  EXPECT_EQ(p.softcap, 30);
  EXPECT_EQ(p.causal, Causal::lower_right);
  EXPECT_EQ(p.window_left, 2);
  EXPECT_EQ(p.window_right, 1);
  EXPECT_EQ(p.query_offset, -1);
  EXPECT_THAT(p.alibi_slopes, ElementsAre(0.5f));
  EXPECT_THAT(p.sinks, ElementsAre(0.0f));
  EXPECT_EQ(p.sequences[0].bias, Matrix(1, 3, {0, -kInf, 1}));
  EXPECT_EQ(p.sequences[0].key_length, 2u);
}

TEST(ProblemFile, CommentsAndCapitalsAreWelcome) {
  const Problem p = parse_problem(R"(// a comment
{ /* another */ "X": [[1]], "W_Q": [[2]], "W_K": [[3]], "W_V": [[4]], "scale": "none" })");
  EXPECT_EQ(trace(p).at("S").values(0, 0), 6);
  EXPECT_EQ(p.scale, 1);
}

TEST(ProblemFile, WrittenOutItReadsBackTheSame) {
  for (const std::string& json :
       {with(R"("title": "q\"\\", "scale": 0.1, "mask": "causal", "softcap": 2,
                "alibi_slopes": [0.25], "sinks": ["-inf"], "window_left": 1)"),
        with(R"("heads": 2, "w_o": [[1], [2]], "b_o": [3], "b_q": [1, 2], "causal": "lower_right",
                "bias": [[0, 1, "-inf"], [0, 0, 0], [1, 2, 3]], "mask": [[1, 0, 1]])"),
        with(R"("mask": [[false, false, false]])"),
        std::string(R"({"keys": [[[1, 2]], [[3, 4]]], "query": [[5, 6], [7, 8]]})"),
        std::string(R"({"q": [[1]], "k": [[2], [3]], "context_tokens": ["a", "b"]})"),
        std::string(R"({"generate": {"tokens": 2, "dim": 2, "seed": 5}})")}) {
    const Problem p = parse_problem(json);
    const std::string written = to_json(p);
    const Problem again = parse_problem(written);
    EXPECT_EQ(to_json(again), written);
    EXPECT_EQ(to_json(trace(again)), to_json(trace(p)));
  }
}

TEST(ProblemFile, RaggedRowsAreRefusedWithTheirLine) {
  EXPECT_EQ(refusal("{\"x\": [[1, 0], [0, 1]],\n\"w_k\": [\n[1, 2],\n\n[1, 2,\n3]]}"),
            "W_K: row 2 has 3 values, expected 2 (line 5)");
  EXPECT_EQ(refusal("{\"x\": [[1, 0],\n3]}"),
            "X: row 2 is a number, expected a list of 2 values (line 2)");
  EXPECT_EQ(refusal("{\"x\": [[1, [0]]]}"),
            "X: row 1, column 2 is a list, expected a number (line 1)");
  EXPECT_EQ(refusal("{\"x\": [[1, 0], []]}"), "X: row 2 is empty (line 1)");
  EXPECT_EQ(refusal("{\"x\": []}"), "X: is empty (line 1)");
  EXPECT_EQ(refusal("{\"x\": [[[1], [2]], [[3]]]}"), "X: matrix 2 has 1 row, expected 2 (line 1)");
  EXPECT_EQ(refusal("{\"x\": [[[[[1]]]]]}"), "X: is nested 5 deep, expected at most 4 (line 1)");
  EXPECT_EQ(refusal("{\"x\": 3}"), "X: is a number, expected a list of numbers (line 1)");
  EXPECT_EQ(refusal("{\"x\": [1, 2]}"),
            "X: is a list of numbers, expected a list of rows (line 1)");
  EXPECT_EQ(refusal("{\"x\": [[\"one\"]]}"),
            "X: row 1, column 1 is \"one\", expected a number (line 1)");
  EXPECT_EQ(refusal("{\"x\": [[null]]}"), "X: row 1, column 1 is null, expected a number (line 1)");
  EXPECT_EQ(refusal("{\"x\": [[1, true]]}"),
            "X: row 1, column 2 is true or false but the first is a number (line 1)");
}

TEST(ProblemFile, ShapesThatDoNotFitAreRefusedWithTheirLine) {
  EXPECT_EQ(refusal(with("\"w_o\": [[1]]")),
            "W_O: has 1 row, expected 2, heads times the columns of V (line 2)");
  EXPECT_EQ(refusal(with("\n\"tokens\": [\"a\"]")), "problem: \"tokens\" is given twice (line 3)");
  EXPECT_EQ(refusal(with("\n\"heads\": 3")),
            "W_Q: has 2 columns, which cannot be shared out to 3 heads (line 2)");
  EXPECT_EQ(refusal(with("\n\"key_length\": 9")), "key_length: is 9 but there are 3 keys (line 3)");
}

TEST(ProblemFile, UnknownKeysAreRefusedWithASuggestion) {
  EXPECT_EQ(refusal("{\"tokns\": []}"),
            "problem: there is no key \"tokns\"; did you mean \"tokens\"? (line 1)");
  EXPECT_EQ(refusal("{\"completely_different\": 1}"),
            "problem: there is no key \"completely_different\" (line 1)");
  EXPECT_THAT(refusal(R"({"batch": [{"w_q": [[1]]}]})"), HasSubstr("batch row 1: there is no key"));
}

TEST(ProblemFile, WhatIsNotJsonIsRefusedWithLineAndColumn) {
  EXPECT_THAT(refusal("{\n\"x\": [1,\n}"), HasSubstr("problem: line 3, column 1: syntax error"));
  EXPECT_THAT(refusal(""), HasSubstr("problem: line 1, column 1: "));
  EXPECT_THAT(refusal("{\"x\": [[NaN]]}"), HasSubstr("infinities and NaN are written"));
  EXPECT_THAT(refusal("{\"x\": [[1e999]]}"), HasSubstr("problem: line 1: number overflow"));
  EXPECT_THAT(refusal("{\"x\": \"\xff\"}"), HasSubstr("\\xff"));
  EXPECT_EQ(refusal("[1]"), "problem: is a list, expected an object { ... }");
  EXPECT_EQ(refusal(std::string(5000, '[')), "problem: nested more than 12 deep (line 1)");
}

TEST(ProblemFile, EmptyProblemsSayWhatToGive) {
  EXPECT_EQ(refusal("{}"), "X: is missing; give x, or q and k");
  EXPECT_EQ(refusal("{\"tokens\": []}"), "tokens: is empty (line 1)");
  EXPECT_EQ(refusal("{\"text\": \"  \"}"), "text: has no words (line 1)");
  EXPECT_EQ(refusal("{\"batch\": []}"), "batch: is empty (line 1)");
}

TEST(ProblemFile, OptionsOfTheWrongKind) {
  EXPECT_EQ(refusal(with("\"scale\": \"big\"")), "scale: is \"big\", expected a number (line 2)");
  EXPECT_EQ(refusal(with("\"heads\": 1.5")), "heads: is 1.5, expected a whole number (line 2)");
  EXPECT_EQ(refusal(with("\"heads\": -1")), "heads: is -1, expected at least 0 (line 2)");
  EXPECT_EQ(refusal(with("\"heads\": \"two\"")),
            "heads: is a string, expected a whole number (line 2)");
  EXPECT_EQ(
      refusal(with("\"causal\": \"left\"")),
      "causal: is \"left\", expected true, false, \"upper_left\" or \"lower_right\" (line 2)");
  EXPECT_EQ(refusal(with("\"title\": 3")), "title: is a number, expected a string (line 2)");
  EXPECT_EQ(refusal(with("\"values\": \"some\"")),
            "values: is \"some\", expected \"keys\" or \"none\" (line 2)");
  EXPECT_EQ(refusal(R"({"tokens": ["a", 2], "x": [[1], [2]]})"),
            "tokens: entry 2 is a number, expected a string (line 1)");
}

TEST(ProblemFile, Masks) {
  const auto mask = [](std::string_view json) {
    return parse_problem(with("\"mask\": " + std::string(json))).sequences[0].mask;
  };
  const Matrix expected(3, 3, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  EXPECT_EQ(mask("[[1, 0, 0], [1, 1, 0], [1, 1, 1]]"), expected);
  EXPECT_EQ(mask("[[true, false, false], [true, true, false], [true, true, true]]"), expected);
  EXPECT_EQ(mask("[[0, \"-inf\", \"-Infinity\"], [0, 0, \"−∞\"], [0, 0, 0]]"), expected);
  EXPECT_TRUE(mask("\"none\"").empty());
  EXPECT_EQ(parse_problem(with("\"mask\": \"causal\"")).causal, Causal::upper_left);
  EXPECT_EQ(parse_problem(with("\"causal\": true")).causal, Causal::upper_left);
  EXPECT_FALSE(parse_problem(with("\"causal\": false")).causal);
  EXPECT_EQ(parse_problem(with("\"mask\": \"pad:2\"")).sequences[0].key_length, 2u);
  EXPECT_EQ(
      refusal(with("\"mask\": \"pad:x\"")),
      "mask: is \"pad:x\", expected pad: and the number of keys to keep, such as pad:3 (line 2)");
  EXPECT_THAT(refusal(with("\"mask\": [[0, \"-inf\", 2]]")),
              HasSubstr("mask: row 1, column 3 is neither 0 nor \"-inf\"; numbers to be added"));
  EXPECT_THAT(refusal(with("\"mask\": [[0, 0.5, 1]]")),
              HasSubstr("mask: row 1, column 2 is neither 0 nor 1"));
  EXPECT_THAT(refusal(with("\"mask\": [[0, 0, 0]]")), HasSubstr("holds nothing but 0"));
  EXPECT_EQ(mask("[[false, false, false]]"), Matrix(1, 3, 0.0));
}

TEST(ProblemFile, NumbersThatAreNone) {
  const Problem p = parse_problem(R"({"q": [["nan", "inf"]], "k": [["-inf", "Infinity"]]})");
  EXPECT_TRUE(std::isnan(p.sequences[0].q[0](0, 0)));
  EXPECT_EQ(p.sequences[0].q[0](0, 1), kInf);
  EXPECT_EQ(p.sequences[0].k[0](0, 0), -kInf);
  EXPECT_EQ(p.values, Problem::Values::none);
}

TEST(ProblemFile, HeadsAsAListOrSideBySide) {
  const Problem listed = parse_problem(R"({"x": [[1, 2]],
    "w_q": [[[1], [2]], [[3], [4]]], "w_k": [[[1], [2]], [[3], [4]]],
    "w_v": [[[1], [2]], [[3], [4]]], "b_q": [[1], [2]]})");
  const Problem packed = parse_problem(R"({"heads": 2, "x": [[1, 2]],
    "w_q": [[1, 3], [2, 4]], "w_k": [[1, 3], [2, 4]], "w_v": [[1, 3], [2, 4]], "b_q": [1, 2]})");
  EXPECT_EQ(listed.heads, 2u);
  EXPECT_EQ(listed.w_q, packed.w_q);
  EXPECT_EQ(listed.b_q, packed.b_q);
  EXPECT_EQ(trace(listed).at("C").values, trace(packed).at("C").values);
  const Problem grouped = parse_problem(R"({"q": [[[1]], [[2]]], "k": [[[3]]], "v": [[[4]]]})");
  EXPECT_EQ(grouped.heads, 2u);
  EXPECT_EQ(grouped.kv_heads, 1u);
  EXPECT_THAT(refusal(R"({"x": [[1, 2]], "w_q": [[[1], [2]], [[3], [4]]],
    "w_k": [[[1], [2]],
            [[3, 4], [5, 6]]], "w_v": [[1, 3], [2, 4]]})"),
              HasSubstr("W_K: matrix 2, row 1 has 2 values, expected 1 (line 3)"));
}

TEST(ProblemFile, BatchesAlongTheFirstAxis) {
  const Problem p = parse_problem(R"({"tokens": [["a", "b"], ["c", "d"]],
    "x": [[[1], [2]], [[3], [4]]], "w_q": [[1]], "w_k": [[1]], "w_v": [[1]],
    "key_lengths": [2, 1], "mask": [[[1, 0], [1, 1]], [[1, 1], [1, 1]]]})");
  ASSERT_EQ(p.sequences.size(), 2u);
  EXPECT_THAT(p.sequences[1].tokens, ElementsAre("c", "d"));
  EXPECT_EQ(p.sequences[1].x, Matrix(2, 1, {3, 4}));
  EXPECT_EQ(p.sequences[1].key_length, 1u);
  EXPECT_EQ(p.sequences[0].mask, Matrix(2, 2, {1, 0, 1, 1}));
  const std::string x = R"({"x": [[[1]], [[2]]], "w_q": [[1]], "w_k": [[1]], "w_v": [[1]])";
  EXPECT_EQ(refusal(x + R"(, "key_lengths": [1]})"),
            "key_lengths: there are 1 for 2 sequences (line 1)");
  EXPECT_EQ(refusal(x + R"(, "tokens": [["a"]]})"),
            "tokens: there are 1 lists for 2 sequences (line 1)");
  EXPECT_EQ(refusal(x + R"(, "context": [[[1]]]})"), "X_KV: there are 1 for 2 sequences (line 1)");
  EXPECT_EQ(refusal(x + R"(, "mask": [[[1]]]})"), "mask: there are 1 for 2 sequences (line 1)");
}

TEST(ProblemFile, BatchesAsAListOfRows) {
  const Problem p = parse_problem(R"({"tokens": ["a", "b"], "w_q": [[1]], "w_k": [[1]],
    "w_v": [[1]], "batch": [{"x": [[1], [2]]}, {"x": [[3], [4]], "tokens": ["c", "d"],
    "mask": "pad:1"}]})");
  EXPECT_THAT(p.sequences[0].tokens, ElementsAre("a", "b"));
  EXPECT_THAT(p.sequences[1].tokens, ElementsAre("c", "d"));
  EXPECT_EQ(p.sequences[1].key_length, 1u);
  EXPECT_EQ(refusal(R"({"x": [[1]], "batch": [{"x": [[1]]}]})"),
            "X: given both in batch and beside it (line 1)");
  EXPECT_EQ(refusal(R"({"batch": [3]})"), "batch row 1: is a number, expected an object (line 1)");
}

TEST(ProblemFile, SingleQueriesOverTheirKeys) {
  const Problem p = parse_problem(R"({"tokens": ["a", "b"], "keys": [[1, 0], [0, 1]],
    "query": [2, 3]})");
  EXPECT_EQ(p.values, Problem::Values::keys);
  EXPECT_EQ(p.scale, 1);
  EXPECT_THAT(p.sequences[0].context_tokens, ElementsAre("a", "b"));
  const Trace t = trace(p);
  EXPECT_THAT(t.at("S").row_labels, ElementsAre("query"));
  EXPECT_EQ(t.at("S").values, Matrix(1, 2, {2, 3}));
  EXPECT_EQ(parse_problem(R"({"keys": [[1]], "query": [2], "scale": 3})").scale, 3);
  EXPECT_EQ(refusal(R"({"keys": [[1]]})"), "query: is missing beside keys");
  EXPECT_EQ(refusal(R"({"query": [1]})"), "keys: are missing beside query");
}

TEST(ProblemFile, WhatIsNotGivenMayBeGenerated) {
  const Problem p = parse_problem(R"({"tokens": ["a", "b"], "generate": {"dim": 4, "heads": 2}})");
  EXPECT_EQ(describe(p.inputs), "generated (seed 7), not learned");
  EXPECT_EQ(p.heads, 2u);
  const Problem typed = parse_problem(R"({"x": [[1, 2]], "generate": {"seed": 9}})");
  EXPECT_EQ(describe(typed.inputs), "typed");
  EXPECT_EQ(describe(typed.weights), "generated (seed 9), not learned");
  EXPECT_EQ(refusal(with("\"generate\": {}")), "generate: the weights are given already (line 2)");
  EXPECT_EQ(refusal(R"({"x": [[[1]], [[2]]], "generate": {}})"),
            "generate: there are 2 sequences, expected 1 (line 1)");
  EXPECT_EQ(refusal(R"({"inputs_origin": {"kind": "learned"}, "x": [[1]], "generate": {}})"),
            "inputs_origin: kind must be \"generated\" or \"imported\" (line 1)");
}

TEST(ProblemFile, TooManyNamesAreRefused) {
  std::string json = "{";
  for (std::size_t i = 0; i <= io::kMostMembers; ++i) json += "\"" + std::to_string(i) + "\":1,";
  EXPECT_THAT(refusal(json), HasSubstr("problem: more than 1000 names in one object (line 1)"));
}

TEST(ProblemFile, TooManyValuesAreRefused) {
  std::string json = "{\"x\": [[1";
  for (std::size_t i = 0; i < io::kMostValues; ++i) json += ",1";
  EXPECT_THAT(refusal(json), HasSubstr("problem: holds more than 2000000 values (line 1)"));
}

class ProblemFiles : public io::ScratchTest {};

TEST_F(ProblemFiles, MatricesMayLieInFiles) {
  io::write_npy(path("x.npy"), io::array_of<float>({3, 2}, {1, 0, 0, 1, 1, 1}));
  io::write_npy(path("w.npy"), io::array_of<double>({2, 2}, {1, 0, 1, 1}));
  io::put(path("p.json"), R"({"x": "x.npy", "w_q": "w.npy", "w_k": "w.npy", "w_v": [[1], [2]]})");
  const Problem p = read_problem(path("p.json"));
  EXPECT_EQ(p.sequences[0].x, Matrix(3, 2, {1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(describe(p.inputs), "imported");
  EXPECT_EQ(describe(p.weights), "imported");
  EXPECT_EQ(to_json(parse_problem(to_json(p))), to_json(p));
  io::put(path("bad.json"), "{\n\"x\": \"missing.npy\"}");
  EXPECT_THAT(error_of([&] { read_problem(path("bad.json")); }),
              ::testing::EndsWith("X: " + path("missing.npy") + ": no such file (line 2)"));
  io::write_npy(path("deep.npy"), io::array_of<double>({1, 1, 1, 1, 1}, {1}));
  io::put(path("bad.json"), "{\"x\": \"deep.npy\"}");
  EXPECT_THAT(error_of([&] { read_problem(path("bad.json")); }),
              HasSubstr("deep.npy: has 5 axes, expected 1 to 4"));
  EXPECT_THAT(error_of([&] { read_problem(path("absent.json")); }), HasSubstr("absent.json"));
}

TEST_F(ProblemFiles, MasksFromTheCommandLine) {
  const auto masked = [&](std::string_view mask) {
    Problem p = parse_problem(with("\"mask\": \"causal\", \"key_length\": 3"));
    set_mask(p, mask);
    validate(p);
    return p;
  };
  EXPECT_FALSE(masked("none").causal || masked("none").sequences[0].key_length);
  EXPECT_EQ(masked("causal").causal, Causal::upper_left);
  EXPECT_EQ(masked("pad:2").sequences[0].key_length, 2u);
  io::write_npy(path("m.npy"), io::array_of<bool>({1, 3}, {true, false, true}));
  EXPECT_EQ(masked(path("m.npy")).sequences[0].mask, Matrix(1, 3, {1, 0, 1}));
  io::put(path("m.json"), "[[true, false, true]]");
  EXPECT_EQ(masked(path("m.json")).sequences[0].mask, Matrix(1, 3, {1, 0, 1}));
  EXPECT_THROW(masked(path("none.npy")), Error);
}

}  // namespace
}  // namespace heed::explain
