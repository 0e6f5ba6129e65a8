// A problem: attention to be worked out and shown, as people write it down. Small by intention:
// matrices in double, one sequence after the other, every weight in full.
//
// A problem comes from a JSON file (docs/problem-files.md), from a sentence, or from code. trace.h
// computes it. Owning plain values; copy and move freely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/error.h"
#include "heed/options.h"

namespace heed::explain {

// Owning, contiguous [rows, cols].
struct Matrix {
  std::size_t rows = 0, cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::size_t rows_, std::size_t cols_, double value = 0)
      : rows(rows_), cols(cols_), values(rows_ * cols_, value) {}
  Matrix(std::size_t rows_, std::size_t cols_, std::vector<double> values_)
      : rows(rows_), cols(cols_), values(std::move(values_)) {}

  bool empty() const { return values.empty(); }
  double& operator()(std::size_t i, std::size_t j) { return values[i * cols + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * cols + j]; }
  bool operator==(const Matrix&) const = default;
};

// Where numbers come from; said wherever they are shown.
struct Origin {
  enum class Kind : std::uint8_t { typed, generated, imported };
  Kind kind = Kind::typed;
  std::uint64_t seed = 0;  // generated: "generated (seed 7), not learned"
};
std::string describe(const Origin& origin);  // "typed", "generated (seed 7), not learned", ...

// One row of the batch: one sentence, or one pair of sentences. Sequences of one problem may differ
// in length. Either x (and weights in the Problem) or q, k, v are given, never both.
struct Sequence {
  std::vector<std::string> tokens;          // of the queries; empty: "1", "2", ...
  std::vector<std::string> context_tokens;  // of the keys, where they differ from the queries
  Matrix x;                                 // [n_q, d]
  Matrix context;                           // [n_k, d_context]; empty: self-attention
  std::vector<Matrix> q;                    // one per head [n_q, d_k]
  std::vector<Matrix> k;                    // one per kv head [n_k, d_k]
  std::vector<Matrix> v;  // one per kv head [n_k, d_v]; empty with q and k: see `values`
  Matrix mask;            // [n_q or 1, n_k], 1 = attend, 0 = hidden; empty: none
  Matrix bias;            // [n_q or 1, n_k], added to the scores; empty: none
  std::optional<std::size_t> key_length;  // keys past it are padding
};

struct Problem {
  std::string title;
  std::vector<Sequence> sequences;  // at least one

  // Weights, one per head (w_q) and per key/value head (w_k, w_v). [d, d_k], [d, d_k], [d, d_v]
  std::vector<Matrix> w_q, w_k, w_v;
  std::vector<Matrix> b_q, b_k, b_v;  // [1, d_k], ...; empty: none
  Matrix w_o;                         // [heads * d_v, d_out]; empty: none
  Matrix b_o;                         // [1, d_out]
  std::size_t heads = 1, kv_heads = 1;

  // What stands in the place of V when no v is given.
  //   projected  V = x * W_V, or the given v
  //   keys       the keys serve as values too (single-query "selfish" attention)
  //   none       there are no values: the work ends with the weights
  enum class Values : std::uint8_t { projected, keys, none };
  Values values = Values::projected;

  std::optional<double> scale;  // default 1 / sqrt(d_k); 1 is "no scaling" and leaves the step out
  std::optional<double> softcap;
  std::optional<Causal> causal;
  std::optional<std::int64_t> query_offset, window_left, window_right;
  std::vector<float> alibi_slopes;  // one per head
  std::vector<float> sinks;         // one per head

  Origin inputs, weights;
  std::map<std::string, std::size_t> lines;  // "W_K" -> line in the file it was read from
};

// Throws heed::Error naming the matrices, both values and, where known, the line:
//   "W_K: has 3 rows, expected 2, the columns of X (line 7)".
// Sizes that would not fit are refused here, before anything is computed.
void validate(const Problem& problem);

// Problem files -------------------------------------------------------------------------------

// JSON with comments. `folder` is where files that the problem names ("x": "x.npy") are looked for;
// `name` is the file's name in errors.
Problem parse_problem(std::string_view json, const std::filesystem::path& folder = {},
                      std::string_view name = "problem");
Problem read_problem(const std::filesystem::path& path);  // "-" is standard input

// What hides keys, as on the command line: "none", "causal", "pad:N", or a file with a matrix
// (.npy, or JSON: a list of rows). Replaces what the problem had.
void set_mask(Problem& problem, std::string_view mask);

// The problem as such a file, matrices in full and numbers in their shortest round-trip form.
std::string to_json(const Problem& problem);

// Shares the columns of all projections (or of q, k, v) out to that many heads.
void set_heads(Problem& problem, std::size_t heads);

// Generated problems --------------------------------------------------------------------------

struct GenerateOptions {
  std::uint64_t seed = 7;
  std::vector<std::string> tokens = {};  // empty: `count` tokens without names
  std::size_t count = 0;
  std::size_t dim = 4;           // of the embedding
  std::size_t heads = 1;         // d_k = d_v = dim / heads, and W_O where heads > 1
  std::optional<Matrix> x = {};  // typed embeddings; weights alone are then generated
};
// Embeddings and weights drawn from the seed alone; the same word gets the same embedding.
Problem generate(const GenerateOptions& options);

// Embeddings alone [tokens, dim].
Matrix generate_embeddings(const std::vector<std::string>& tokens, std::size_t dim,
                           std::uint64_t seed);

// Words of a sentence, separated by white space.
std::vector<std::string> split_words(std::string_view text);

}  // namespace heed::explain
