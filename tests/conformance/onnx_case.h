// One node test case of the ONNX project, read from its folder and put as a problem of heed.
//
// What ONNX says in other words is translated here, once: 3-D layouts, the past in front of the
// keys, nonpad lengths, windows of -1, masks of any rank, masks shorter than the keys. Tests of any
// implementation then read q, k, v and options, and compare with what is expected.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heed/io.h"
#include "heed/options.h"
#include "heed/view.h"

namespace heed::conformance {

// Which step of the operator ONNX's optional output shows (qk_matmul_output_mode).
enum class ScoreStage : int { scaled = 0, capped = 1, biased = 2, weights = 3 };

// Owns everything that its views point at: it can be moved, not copied.
struct OnnxCase {
  std::string name;
  std::string cannot;  // why heed does not express this case; empty when it does

  ConstTensorView q, k, v;  // k and v with the past in front
  AttentionOptions options;

  // What is expected, as f64 in the shape heed computes it in.
  ConstTensorView y;                                    // [batch, query_heads, n_q, d_v]
  std::optional<ConstTensorView> scores;                // [batch, query_heads, n_q, n_k]
  ScoreStage stage = ScoreStage::scaled;                // of `scores`
  std::optional<io::Array> present_key, present_value;  // the bits of k and v
  double rtol = 0, atol = 0;

  std::vector<io::Array> arrays;  // what the views point at
  std::vector<std::int64_t> key_lengths, query_offsets;

  OnnxCase() = default;
  OnnxCase(OnnxCase&&) = default;
};

// Folders of the Attention and FlexAttention cases, by name; empty where the cases are absent.
std::vector<std::filesystem::path> onnx_case_folders();

OnnxCase read_onnx_case(const std::filesystem::path& folder);

// Empty, or the first entry where |got - expected| > atol + rtol |expected|. Infinities must be
// equal, NaN matches nothing.
using Entry = std::function<double(std::size_t b, std::size_t h, std::size_t i, std::size_t j)>;
std::string difference(const Entry& got, ConstTensorView expected, double rtol, double atol);

}  // namespace heed::conformance
