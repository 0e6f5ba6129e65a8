#include "engine/answer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "heed/io.h"
#include "heed/render.h"
#include "heed/trace.h"

namespace heed::web {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string example(const std::string& name) {
  return io::read_text(fs::path(HEED_SOURCE_DIR) / "examples" / name);
}

json ask(Session& session, const json& request) {
  return json::parse(answer(session, request.dump()));
}

json solved(Session& session, const std::string& name) {
  return ask(session, {{"do", "solve"}, {"problem", example(name)}});
}

TEST(WebAnswer, ASolvedProblemCarriesItsNumbersAsText) {
  Session session;
  const json problem = solved(session, "i-love-ai.json");
  ASSERT_FALSE(problem.contains("error")) << problem;
  for (const json& matrix : problem["matrices"]) {
    ASSERT_EQ(matrix["cells"]["text"].size(),
              matrix["rows"].get<size_t>() * matrix["cols"].get<size_t>());
    for (const json& text : matrix["cells"]["text"]) EXPECT_TRUE(text.is_string());
  }
}

TEST(WebAnswer, ExportsAreWhatTheRenderersWrite) {
  Session session;
  solved(session, "i-love-ai.json");
  const explain::Trace trace = explain::trace(explain::parse_problem(example("i-love-ai.json")));
  for (const char* format : {"latex", "md", "svg", "html", "json"}) {
    const json file = ask(session, {{"do", "render"}, {"format", format}});
    EXPECT_EQ(file.value("text", file.dump()), render(trace, explain::parse_format(format), {}))
        << format;
  }
}

TEST(WebAnswer, ViewsAnswerForEveryKindOfProduct) {
  Session session;
  solved(session, "i-love-ai.json");
  for (const char* id : {"Q", "S", "O"})
    for (const char* view : {"row", "column", "outer"}) {
      const json seen = ask(session, {{"do", "combine"}, {"id", id}, {"view", view}, {"index", 1}});
      ASSERT_FALSE(seen.contains("error")) << id << " " << view << " " << seen;
      EXPECT_GT(seen["parts"].size(), 1u);
    }
}

TEST(WebAnswer, TheFirstDifferenceIsTheOneThatWasMade) {
  Session session;
  solved(session, "i-love-ai.json");
  json other = json::parse(example("i-love-ai.json"), nullptr, true, true);
  other["x"][1][0] = other["x"][1][0].get<double>() + 1;
  ask(session, {{"do", "solve"}, {"slot", "other"}, {"problem", other.dump()}});
  const json report = ask(session, {{"do", "diff"}});
  EXPECT_EQ(report["first"]["id"], "X");
  EXPECT_EQ(report["first"]["row"], 1);
  EXPECT_EQ(report["first"]["col"], 0);
  EXPECT_EQ(report["firstStep"]["id"], "Q");
}

TEST(WebAnswer, ARequestThatCannotBeMetIsAnErrorAndLeavesTheLastResult) {
  Session session;
  solved(session, "i-love-ai.json");
  for (const json& request : {
           json{{"do", "no such thing"}},
           json{{"no", "name"}},
           json{{"do", "solve"}, {"problem", "{"}},
           json{{"do", "solve"}, {"problem", R"({"x": [[1], [2, 3]]})"}},
           json{{"do", "solve"}, {"problem", 7}},
           json{{"do", "expand"}, {"id", "S"}, {"row", 99}, {"col", 0}},
           json{{"do", "expand"}, {"id", "nothing"}},
           json{{"do", "expand"}, {"id", "S"}, {"row", -1}},
           json{{"do", "combine"}, {"id", "S"}, {"view", "sideways"}},
           json{{"do", "long-slice"}},
           json{{"do", "long-start"}, {"q", {{"file", 3}, {"name", ""}}}, {"k", {{"file", 3}}}},
       })
    EXPECT_TRUE(ask(session, request).contains("error")) << request;
  EXPECT_TRUE(json::parse(answer(session, "not json")).contains("error"));
  EXPECT_FALSE(ask(session, {{"do", "expand"}, {"id", "S"}}).contains("error"));
}

TEST(WebAnswer, TextFromAProblemStaysText) {
  Session session;
  const json problem = {{"title", "</script><b>\"\\\u0001"},
                        {"tokens", {"<i>", "\"", "\\"}},
                        {"q", {{1}, {2}, {3}}},
                        {"k", {{1}, {2}, {3}}},
                        {"v", {{1}, {2}, {3}}}};
  const json answered = ask(session, {{"do", "solve"}, {"problem", problem.dump()}});
  ASSERT_FALSE(answered.contains("error")) << answered;
  EXPECT_EQ(answered["title"], problem["title"]);
}

}  // namespace
}  // namespace heed::web
