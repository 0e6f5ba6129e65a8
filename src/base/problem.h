// Problem: an attention problem checked once, in the terms that every implementation computes in.
//
// The reference and the kernels share this and nothing else: what is an error, where each sequence
// lies, where its queries stand among its keys, and which keys a query may see. No number of the
// operator itself is computed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "heed/options.h"
#include "heed/view.h"

namespace heed {

// One sequence of the batch: a batch row, or a stretch of tokens of a ragged batch.
struct Sequence {
  std::size_t batch = 0;                       // row of q, k, v, out (0 in a ragged batch)
  std::size_t first_query = 0, first_key = 0;  // tokens where it begins (0 in a padded batch)
  std::size_t queries = 0;                     // n_q
  std::size_t keys = 0;                        // n_k
  std::size_t key_length = 0;                  // keys j >= key_length are hidden; <= keys
  std::int64_t offset = 0;                     // query i stands at key i + offset
};

// Keys [begin, end) of a sequence; begin == end when there is none.
struct KeyRange {
  std::size_t begin = 0, end = 0;
  bool contains(std::size_t j) const { return begin <= j && j < end; }
  std::size_t size() const { return end - begin; }
};

struct Problem {
  std::size_t query_heads = 0, kv_heads = 0;    // query_heads % kv_heads == 0
  std::size_t key_dim = 0, value_dim = 0;       // d_k, d_v
  std::size_t most_queries = 0, most_keys = 0;  // of any sequence
  double scale = 1;                             // 1 / sqrt(d_k) unless given
  bool ragged = false;
  std::vector<Sequence> sequences;
  ScoreView mask, bias;  // the caller's, with stride 0 along every broadcast axis

  // The key/value head of a query head.
  std::size_t kv_head(std::size_t query_head) const {
    return query_head / (query_heads / kv_heads);
  }

  // What causal, windows and the key length let query i of a sequence see. Within this range the
  // mask, the bias and score_mod may hide more.
  KeyRange visible_keys(const Sequence& sequence, std::size_t i) const;

  // How far query i sees from its position i + offset; none: as far as there are keys. Causal is a
  // reach of 0 to the right.
  std::optional<std::int64_t> reach_left, reach_right;  // >= 0
};

// Checks shapes, dtypes and options; throws heed::Error naming both values. Element data is not
// read, the spans in options are. Describing again into the same Problem reuses its memory.
void describe(Problem& problem, ConstTensorView q, ConstTensorView k, ConstTensorView v,
              const AttentionOptions& options);
Problem describe(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                 const AttentionOptions& options);

// Throws unless out is [batch of q, query_heads, tokens of q, d_v].
void require_output(const Problem& problem, ConstTensorView q, ConstTensorView out);

// Throws unless the tensor (called `name`) has one of these dtypes.
void require_dtype(std::string_view name, DType dtype, std::initializer_list<DType> allowed);

// Throws unless the tensor has a float dtype, at least one head and one column, and an extent that
// can be addressed.
void require_tensor(std::string_view name, ConstTensorView tensor);

// Throws if the tensor has elements but no data.
void require_data(std::string_view name, ConstTensorView tensor);

// |i + offset - j|, the distance ALiBi multiplies; exact below 2^53, without overflow beyond.
double distance(const Sequence& sequence, std::size_t i, std::size_t j);

}  // namespace heed
