// Every known mistake, acted out in a file beside this one, gets the diagnosis written there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/check.h"
#include "heed/problem.h"

namespace heed::explain {
namespace {

using nlohmann::json;

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(HEED_SOURCE_DIR "/tests/mistakes"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Mistakes : public ::testing::TestWithParam<std::string> {};

TEST_P(Mistakes, AreNamed) {
  std::ifstream file(HEED_SOURCE_DIR "/tests/mistakes/" + GetParam() + ".json");
  const json document = json::parse(file);
  const Trace t = trace(parse_problem(document["problem"].dump()));
  const CheckReport report = check(t, parse_solution(document["solution"].dump(), t));
  const std::string text = render_text(t, report);
  const json& expect = document["expect"];
  EXPECT_EQ(report.wrong, expect["wrong"].get<std::size_t>()) << text;
  EXPECT_EQ(report.carried, expect["carried"].get<std::size_t>()) << text;
  ASSERT_TRUE(report.first_wrong) << text;
  const Finding& first = report.findings[*report.first_wrong];
  EXPECT_EQ(first.mistake, expect["mistake"].get<std::string>()) << text;
  if (!expect["first"].is_null()) {
    EXPECT_EQ(first.where, expect["first"].get<std::string>()) << text;
  }
  EXPECT_THAT(text, ::testing::HasSubstr(expect["says"].get<std::string>()));
  for (const Finding& f : report.findings) {
    if (f.mark == Mark::wrong) {
      EXPECT_EQ(f.mistake, first.mistake) << f.where << "\n" << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Known, Mistakes, ::testing::ValuesIn(cases()), [](const auto& named) {
  std::string name = named.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace heed::explain
