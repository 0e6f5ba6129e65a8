// Attention over a long input without ever holding n_q x n_k numbers: the logsumexp of every row
// and a small map pooled by maximum are kept, any rectangle of weights is recomputed when looked
// at.
//
//   LongInput input(std::move(q), std::move(k), {.causal = true});
//   while (!input.slice()) show(input.done());
//   input.map();  input.tile(5000, 4990, 16, 12);
//
// The pass over all keys is heed::attention's; the map is gathered from the scores it hands to a
// score_mod on the way. Memory: q, k, n_q logsumexps, kMapSize rows of the map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heed/io.h"
#include "heed/problem.h"

namespace heed::web {

struct LongOptions {
  bool causal = false;              // lower right: the last query sees every key
  std::optional<float> scale = {};  // default 1/sqrt(d)
  std::size_t head = 0, batch = 0;  // of arrays that have several
};

// The largest weight in each cell of a grid laid over the weights. [rows, cols]
struct PooledMap {
  std::size_t rows = 0, cols = 0;
  std::vector<float> largest;
};

// A rectangle of the score matrix, in double.
struct Tile {
  std::size_t row = 0, col = 0;
  explain::Matrix scores;             // scaled [rows, cols]
  explain::Matrix weights;            // exp(score - lse of the row); 0 where hidden
  std::vector<std::uint8_t> visible;  // [rows, cols]
};

class LongInput {
 public:
  // q and k: [n, d], [heads, n, d] or [batch, heads, n, d] of any number type. Throws heed::Error
  // naming both shapes when they do not fit together.
  LongInput(const io::ArrayView& q, const io::ArrayView& k, const LongOptions& options);

  std::size_t queries() const { return n_q_; }
  std::size_t keys() const { return n_k_; }
  std::size_t dim() const { return d_; }

  bool slice();         // works off the next rows; true when there are none left
  double done() const;  // 0..1

  const PooledMap& map() const { return map_; }
  const std::vector<float>& lse() const { return lse_; }
  Tile tile(std::size_t row, std::size_t col, std::size_t rows, std::size_t cols) const;

  // One score as a problem of its own: one query, one key, no values.
  explain::Problem entry(std::size_t row, std::size_t col) const;

 private:
  void observe(std::size_t first, const float* scores, std::size_t row, std::size_t rows,
               std::size_t col, std::size_t cols, std::size_t stride);
  void pool(std::size_t first, std::size_t rows);
  // How many keys a query sees.
  std::size_t visible_keys(std::size_t query) const;

  io::Array q_, k_;  // f32 [n_q, d], [n_k, d]
  std::vector<float> v_, out_;
  LongOptions options_;
  std::size_t n_q_ = 0, n_k_ = 0, d_ = 0;
  std::size_t next_ = 0;            // first row that is not worked off
  std::vector<float> lse_;          // [n_q]
  std::vector<float> row_largest_;  // scores of the rows of a slice, pooled over keys
  PooledMap map_;
};

}  // namespace heed::web
