// The named shapes that heed is measured on: one table, read by `heed bench`, by the comparison
// with peers and by the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/dtype.h"

namespace heed::bench {

enum class Kind : std::uint8_t {
  prefill,  // many queries: bound by multiply-adds
  decode,   // one query per head: bound by reading K and V
  selfish,  // one query per batch row, keys are the values: bound by reading the keys
  layer,    // a multi-head layer of query_heads * head_dim: its projections and its attention
};

// What a shape has to reach, and what is aimed for, with one thread, as fractions of its limit.
// 0 means: nothing was promised.
struct Target {
  double must = 0, aim = 0;
};

struct Shape {
  std::string_view name;  // "P2c"
  Kind kind = Kind::prefill;
  std::size_t batch = 0, query_heads = 0, kv_heads = 0, n_q = 0, n_k = 0, head_dim = 0;
  bool causal = false;
  bool bias = false;         // with an additive [query_heads, n_q, n_k] tensor
  std::size_t shortest = 0;  // ragged: `batch` sequences of shortest ... n_q tokens; 0: not ragged
  DType kv_dtype = DType::f32;  // of keys and values; queries and outputs are f32; i8: in a KVCache
  Target target = {};
  std::string_view beside = {};  // must stay within kBesideMargin of this shape, in place of target
};
inline constexpr double kBesideMargin = 0.08;

// Every shape, in the order in which they are reported.
std::span<const Shape> all_shapes();

// "P2c"; "D1-f16" where the same shape is measured in several types.
std::string label_of(const Shape& shape);

// The shapes that `names` name, each once, in the order of the table; "D1" names it in every type,
// "D1-f16" in one, and no name at all means all of them. Throws heed::Error for an unknown name.
std::vector<Shape> select_shapes(std::span<const std::string> names);

// Lengths of the sequences of a ragged shape, evenly spaced from shortest to n_q and mixed; empty
// for the others.
std::vector<std::size_t> sequence_lengths(const Shape& shape);

std::size_t query_tokens(const Shape& shape);  // per batch row; all of them where it is ragged
std::size_t key_tokens(const Shape& shape);

// Of a layer, d_model: what one token of its input and of its output has.
std::size_t model_dim(const Shape& shape);

// Useful arithmetic only: 4 n_q n_k d for each query head, half of it for causal; for a layer also
// 8 n d_model^2 for its four products.
double useful_flops(const Shape& shape);

// Keys and values (the keys alone where they are the values; the weights of a layer), each once.
double kv_bytes(const Shape& shape);

// Whether the limit is the bandwidth of reading kv_bytes, rather than the multiply-add peak.
bool bound_by_memory(const Shape& shape);

}  // namespace heed::bench
