#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/render.h"
#include "heed/trace.h"
#include "heed/version.h"
#include "trace/json_writer.h"
#include "trace/test_problems.h"

namespace heed::explain {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const json& node_of(const json& trace_json, std::string_view id) {
  for (const json& node : trace_json["nodes"])
    if (node["id"] == id) return node;
  throw Error("no such node");
}

// The contract that the page and other tools rely on.
TEST(TraceJson, KeepsTheContract) {
  const json t = json::parse(to_json(trace(i_love_ai())));
  EXPECT_EQ(t["heed"], HEED_VERSION);
  EXPECT_EQ(t["problem"]["tokens"], (json{"I", "love", "AI"}));
  const json& s = node_of(t, "S");
  EXPECT_EQ(s["op"], "matmul");
  EXPECT_EQ(s["inputs"], (json{"Q", "K"}));
  EXPECT_EQ(s["batch"], 0);
  EXPECT_EQ(s["head"], 0);
  EXPECT_EQ(s["shape"], (json{3, 3}));
  EXPECT_EQ(s["row_labels"], (json{"I", "love", "AI"}));
  EXPECT_EQ(s["col_labels"], (json{"I", "love", "AI"}));
  EXPECT_EQ(s["values"], (json{{0, 1, 1}, {1, 1, 2}, {1, 2, 3}}));
  EXPECT_EQ(s["step"]["formula"], "S = Q·Kᵀ");
  EXPECT_EQ(t["sizes"]["parameters"], 12);
}

TEST(TraceJson, DoublesReadBackTheSame) {
  const Trace t = trace(everything());
  const json j = json::parse(to_json(t));
  for (std::size_t n = 0; n < t.nodes.size(); ++n)
    for (std::size_t i = 0; i < t.nodes[n].values.rows; ++i)
      for (std::size_t k = 0; k < t.nodes[n].values.cols; ++k) {
        const json& value = j["nodes"][n]["values"][i][k];
        const double truth = t.nodes[n].values(i, k);
        if (std::isfinite(truth))
          EXPECT_EQ(value.get<double>(), truth);
        else
          EXPECT_EQ(value, "-inf");  // the masked scores
      }
}

TEST(TraceJson, WorkingOfAnEntry) {
  const Trace t = trace(i_love_ai());
  const json e = json::parse(to_json(expand(t, t.at("S"), 1, 2)));
  EXPECT_EQ(e["lines"][0]["text"], "q₂₁·k₃₁ + q₂₂·k₃₂");
  EXPECT_EQ(e["lines"][0]["relation"], "=");
  EXPECT_EQ(e["terms"], (json{{1, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(e["used_by"][0]["where"], "entry 2,3 of Z");
  RenderOptions options;
  options.at = parse_entry(t, "S[love,AI]");
  EXPECT_EQ(json::parse(render(t, Format::json, options)), e);
  EXPECT_EQ(render(t, Format::json), to_json(t));
}

TEST(TraceJson, SoftmaxRowsAndViews) {
  const Trace t = trace(everything());
  const json row = json::parse(to_json(softmax_row(t, 0, 0, 0)));
  EXPECT_EQ(row["visible"], (json{true, true, false}));
  EXPECT_EQ(row["z"][2], "-inf");
  EXPECT_EQ(row["sink"], 0.5);
  EXPECT_EQ(row["naive_fails"], false);
  const json view = json::parse(to_json(combine(t, t.at("O"), View::row, 0)));
  EXPECT_EQ(view["view"], "row");
  EXPECT_EQ(view["parts"].size(), 2u);
  EXPECT_EQ(view["parts"][1]["symbol"], "a₁₂");
  EXPECT_EQ(json::parse(to_json(graph(t)))[0]["given"], true);
}

TEST(JsonWriter, EscapesEverythingThatMustBe) {
  EXPECT_EQ(json_string("a\"\\\n\r\t\x01\x7f日"), "\"a\\\"\\\\\\n\\r\\t\\u0001\\u007f日\"");
  EXPECT_EQ(json_string("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_number(INFINITY), "\"inf\"");
  EXPECT_EQ(json_number(NAN), "\"nan\"");
  EXPECT_EQ(json_matrix(Matrix(2, 1, {0.1, -2})), "[[0.1], [-2]]");
}

TEST(Render, FormatsByName) {
  for (const auto& [name, format] :
       {std::pair("text", Format::text), std::pair("md", Format::markdown),
        std::pair("markdown", Format::markdown), std::pair("latex", Format::latex),
        std::pair("tex", Format::latex), std::pair("svg", Format::svg),
        std::pair("html", Format::html), std::pair("json", Format::json)})
    EXPECT_EQ(parse_format(name), format);
  EXPECT_EQ(error_of([] { parse_format("pdf"); }),
            "format: is \"pdf\", expected text, md, latex, svg, html or json");
  const Trace t = trace(i_love_ai());
  EXPECT_THAT(render(t, Format::markdown), HasSubstr("# I love AI"));
  EXPECT_THAT(render(t, Format::latex), HasSubstr("\\documentclass"));
  EXPECT_THAT(render(t, Format::svg), HasSubstr("<svg"));
  EXPECT_THAT(render(t, Format::html), HasSubstr("<html"));
}

}  // namespace
}  // namespace heed::explain
