// heed run: what the command line says, and the parts the command is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace heed::cli {

// Every flag as given. Empty string: not given. Files are addresses (io.h) or "-".
struct RunOptions {
  std::string query, key, value;
  std::string attn_mask, past_key, past_value, kv_lengths, alibi, sinks;
  std::string cu_seqlens_q, cu_seqlens_k;
  std::string causal;        // upper-left or lower-right
  std::string query_offset;  // a number, lower-right, or a file with one number per sequence
  std::optional<std::int64_t> window_left, window_right;
  std::optional<float> scale, softcap;
  std::optional<std::size_t> query_heads, kv_heads;

  std::string output, scores, lse, present_key, present_value;
  std::string scores_stage = "softmax";
  std::string dtype;
  std::size_t threads = 0;
  bool plan = false;

  // A multi-head layer stored in a file.
  std::string from, layer, context, input;
  std::optional<double> rope_base;
  bool rope_interleaved = false;
};

}  // namespace heed::cli
