// The reference on every open ONNX case: output, present keys and values, and the stage of the
// scores that the case shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "heed/reference.h"
#include "tests/conformance/onnx_case.h"

namespace heed::conformance {
namespace {

class OnnxReference : public ::testing::TestWithParam<std::filesystem::path> {};

template <class T>
Entry entries(const reference::Tensor<T>& tensor) {
  return [&tensor](std::size_t b, std::size_t h, std::size_t i, std::size_t j) -> double {
    return tensor.at(b, h, i, j);
  };
}

// The scores at ONNX's stage. Its bias stage shows hidden keys as -infinity.
template <class T>
Entry stage_of(const reference::Attention<T>& r, ScoreStage stage) {
  switch (stage) {
    case ScoreStage::scaled: return entries(r.scaled);
    case ScoreStage::capped: return entries(r.capped);
    case ScoreStage::weights: return entries(r.p);
    case ScoreStage::biased: break;
  }
  return [&r](std::size_t b, std::size_t h, std::size_t i, std::size_t j) -> double {
    return r.visible.at(b, h, i, j) ? r.biased.at(b, h, i, j)
                                    : -std::numeric_limits<double>::infinity();
  };
}

template <class T>
void expect_conforms(const OnnxCase& c) {
  const auto r = reference::attention<T>(c.q, c.k, c.v, c.options);
  ASSERT_EQ(r.o.batch, c.y.batch);
  ASSERT_EQ(r.o.heads, c.y.heads);
  ASSERT_EQ(r.o.rows, c.y.tokens);
  ASSERT_EQ(r.o.cols, c.y.dim);
  EXPECT_EQ(difference(entries(r.o), c.y, c.rtol, c.atol), "");
  if (c.scores) {
    ASSERT_EQ(r.p.cols, c.scores->dim);
    EXPECT_EQ(difference(stage_of(r, c.stage), *c.scores, c.rtol, c.atol), "");
  }
}

void expect_same_bits(const std::optional<io::Array>& present, ConstTensorView tensor) {
  if (!present) return;
  const auto* bytes = static_cast<const std::byte*>(tensor.data);
  EXPECT_TRUE(std::equal(present->bytes.begin(), present->bytes.end(), bytes));
}

TEST_P(OnnxReference, GivesWhatOnnxGives) {
  const OnnxCase c = read_onnx_case(GetParam());
  if (!c.cannot.empty()) GTEST_SKIP() << c.cannot;
  expect_conforms<double>(c);
  expect_conforms<float>(c);
  expect_same_bits(c.present_key, c.k);
  expect_same_bits(c.present_value, c.v);
}

INSTANTIATE_TEST_SUITE_P(Open, OnnxReference, ::testing::ValuesIn(onnx_case_folders()),
                         [](const auto& test) { return test.param.filename().string(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxReference);

TEST(OnnxCases, AreAllThere) {
  const auto folders = onnx_case_folders();
  if (folders.empty()) GTEST_SKIP() << "no ONNX cases beside the project: nothing to conform to";
  const auto attention = std::count_if(folders.begin(), folders.end(), [](const auto& folder) {
    return folder.filename().string().starts_with("test_attention_");
  });
  EXPECT_GE(attention, 40);
  EXPECT_GE(static_cast<std::ptrdiff_t>(folders.size()) - attention, 7);
}

TEST(OnnxCases, DifferenceSeesWhatItShould) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double want[] = {1, -infinity, 0};
  const auto view = bhnd(want, 1, 1, 1, 3);
  const auto with = [&](double a, double b, double c) {
    const double got[] = {a, b, c};
    return difference([&](auto, auto, auto, std::size_t j) { return got[j]; }, view, 1e-3, 1e-7);
  };
  EXPECT_EQ(with(1.0009, -infinity, 1e-7), "");
  EXPECT_NE(with(1.0011, -infinity, 0), "");
  EXPECT_NE(with(1, -1e300, 0), "");
  EXPECT_NE(with(1, -infinity, 1.1e-7), "");
  EXPECT_NE(with(std::numeric_limits<double>::quiet_NaN(), -infinity, 0), "");
}

}  // namespace
}  // namespace heed::conformance
