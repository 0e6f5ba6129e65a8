// The fused kernels on every open ONNX case whose element type they store.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heed/attention.h"
#include "heed/reference.h"
#include "tests/conformance/onnx_case.h"

namespace heed::conformance {
namespace {

class OnnxKernels : public ::testing::TestWithParam<std::filesystem::path> {};

// The elements of a contiguous [batch, heads, tokens, dim] result.
Entry entries(const io::Array& array) {
  const io::Array values = io::convert(array, DType::f64);
  return [values](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    const io::Shape& s = values.shape;
    return values.as<double>()[((b * s[1] + h) * s[2] + i) * s[3] + j];
  };
}

TEST_P(OnnxKernels, GiveWhatOnnxGives) {
  const OnnxCase c = read_onnx_case(GetParam());
  if (!c.cannot.empty()) GTEST_SKIP() << c.cannot;
  if (c.q.dtype == DType::f64) GTEST_SKIP() << "the kernels store f32, f16 and bf16";

  io::Array out(c.q.dtype, {c.y.batch, c.y.heads, c.y.tokens, c.y.dim});
  TensorView view = bhnd(reinterpret_cast<std::uint8_t*>(out.bytes.data()), c.y.batch, c.y.heads,
                         c.y.tokens, c.y.dim);
  view.dtype = out.dtype;
  std::vector<float> lse(c.y.batch * c.y.heads * c.y.tokens);
  attention(c.q, c.k, c.v, view, rows(lse.data(), c.y.heads, c.y.tokens), c.options);
  EXPECT_EQ(difference(entries(out), c.y, c.rtol, c.atol), "");

  // ONNX has no logsumexp: the reference says what it is.
  const auto truth = reference::attention<double>(c.q, c.k, c.v, c.options).lse;
  const ConstTensorView expected =
      bhnd(truth.values.data(), truth.batch, truth.heads, truth.rows, truth.cols);
  const auto got = [&](std::size_t b, std::size_t h, std::size_t i, std::size_t) -> double {
    return lse[(b * c.y.heads + h) * c.y.tokens + i];
  };
  EXPECT_EQ(difference(got, expected, c.rtol, c.atol), "");
}

INSTANTIATE_TEST_SUITE_P(Open, OnnxKernels, ::testing::ValuesIn(onnx_case_folders()),
                         [](const auto& test) { return test.param.filename().string(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxKernels);

}  // namespace
}  // namespace heed::conformance
