#include "engine/long_input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "heed/attention.h"
#include "heed/reference.h"

namespace heed::web {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr std::size_t kMapSize = 256;  // cells of the map along each axis, at most
constexpr std::size_t kSlice = 128;    // queries between two looks at the clock
constexpr std::size_t kMostNumbers = 1u
                                     << 26;  // of q or k: a quarter of what a browser tab may hold
constexpr std::size_t kMostTile = 1u << 14;  // entries of a tile: more than a screen shows

[[noreturn]] void refuse(const std::string& message) {
  throw Error("long input: " + message);
}

// One head of an array as contiguous f32 [n, d].
io::Array one_head(const char* name, const io::ArrayView& array, const LongOptions& options) {
  const io::Shape& shape = array.shape;
  const auto text = std::string(name) + " has shape " + io::to_string(shape);
  if (shape.size() < 2 || shape.size() > 4)
    refuse(text + ", expected (tokens, dim), (heads, tokens, dim) or (batch, heads, tokens, dim)");
  const std::size_t n = shape[shape.size() - 2], d = shape[shape.size() - 1];
  if (n == 0 || d == 0) refuse(text + ": it is empty");
  if (n > kMostNumbers / d)
    refuse(text + ", more than the " + std::to_string(kMostNumbers) + " numbers a page can hold");
  const std::size_t heads = shape.size() > 2 ? shape[shape.size() - 3] : 1;
  const std::size_t batch = shape.size() > 3 ? shape[0] : 1;
  if (options.head >= heads)
    refuse(text + ", so there is no head " + std::to_string(options.head + 1));
  if (options.batch >= batch)
    refuse(text + ", so there is no batch row " + std::to_string(options.batch + 1));
  const std::size_t bytes = n * d * size_of(array.dtype);
  const std::size_t at = (options.batch * heads + options.head) * bytes;
  return io::convert({array.dtype, {n, d}, array.bytes.subspan(at, bytes)}, DType::f32);
}

ConstTensorView rows_of(const io::Array& array, std::size_t first, std::size_t count) {
  const std::size_t d = array.shape[1];
  return bhnd(array.as<float>().data() + first * d, 1, 1, count, d);
}

// Which cell of `cells` laid over n positions holds position i.
std::size_t cell_of(std::size_t i, std::size_t n, std::size_t cells) {
  return static_cast<std::size_t>(static_cast<std::uint64_t>(i) * cells / n);
}

}  // namespace

LongInput::LongInput(const io::ArrayView& q, const io::ArrayView& k, const LongOptions& options)
    : q_(one_head("q", q, options)), k_(one_head("k", k, options)), options_(options) {
  n_q_ = q_.shape[0];
  n_k_ = k_.shape[0];
  d_ = q_.shape[1];
  if (k_.shape[1] != d_)
    refuse("q has shape " + io::to_string(q.shape) + " but k has " + io::to_string(k.shape) +
           ": their last sizes must be the same");
  v_.assign(n_k_, 0.0f);  // the weights are wanted, not the output
  out_.resize(kSlice);
  lse_.assign(n_q_, kLowest);
  map_.rows = std::min(n_q_, kMapSize);
  map_.cols = std::min(n_k_, kMapSize);
  map_.largest.assign(map_.rows * map_.cols, 0.0f);
}

double LongInput::done() const {
  return static_cast<double>(next_) / static_cast<double>(n_q_);
}

std::size_t LongInput::visible_keys(std::size_t query) const {
  if (!options_.causal) return n_k_;
  const std::size_t seen = query + 1 + n_k_;  // n_q - n_k earlier queries see nothing
  return seen > n_q_ ? std::min(seen - n_q_, n_k_) : 0;
}

bool LongInput::slice() {
  if (next_ == n_q_) return true;
  const std::size_t first = next_, rows_here = std::min(kSlice, n_q_ - next_);
  row_largest_.assign(rows_here * map_.cols, kLowest);
  auto observer = [&](const ScoreTile<float>& t) {
    observe(first, t.s, t.query, t.rows, t.key, t.cols, t.stride);
  };
  AttentionOptions options{.scale = options_.scale};
  if (options_.causal) {
    options.causal = Causal::lower_right;
    options.query_offset = static_cast<std::int64_t>(n_k_) - static_cast<std::int64_t>(n_q_) +
                           static_cast<std::int64_t>(first);
  }
  options.score_mod = score_mod(observer);
  attention(rows_of(q_, first, rows_here), rows_of(k_, 0, n_k_),
            bhnd(std::as_const(v_).data(), 1, 1, n_k_, 1), bhnd(out_.data(), 1, 1, rows_here, 1),
            rows(lse_.data() + first, 1, rows_here), options);
  pool(first, rows_here);
  next_ += rows_here;
  return next_ == n_q_;
}

// The largest visible score of each row in each cell of the map.
void LongInput::observe(std::size_t first, const float* scores, std::size_t row, std::size_t count,
                        std::size_t col, std::size_t cols, std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = std::min(col + cols, visible_keys(first + row + i));
    float* largest = row_largest_.data() + (row + i) * map_.cols;
    for (std::size_t j = col; j < end; ++j) {
      float& cell = largest[cell_of(j, n_k_, map_.cols)];
      const float s = scores[i * stride + j - col];
      if (!(s <= cell)) cell = s;  // NaN stays visible
    }
  }
}

void LongInput::pool(std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    float* into = map_.largest.data() + cell_of(first + i, n_q_, map_.rows) * map_.cols;
    for (std::size_t c = 0; c < map_.cols; ++c) {
      const float s = row_largest_[i * map_.cols + c];
      if (s == kLowest) continue;
      const float weight = std::exp(s - lse_[first + i]);
      if (!(weight <= into[c])) into[c] = weight;
    }
  }
}

Tile LongInput::tile(std::size_t row, std::size_t col, std::size_t rows_wanted,
                     std::size_t cols_wanted) const {
  if (row >= n_q_ || col >= n_k_)
    refuse("entry (" + std::to_string(row + 1) + ", " + std::to_string(col + 1) + ") of " +
           std::to_string(n_q_) + " by " + std::to_string(n_k_));
  const std::size_t count = std::min(rows_wanted, n_q_ - row),
                    cols = std::min(cols_wanted, n_k_ - col);
  if (count == 0 || cols > kMostTile / count) refuse("a tile of that size is not shown");
  const auto part = reference::attention<double>(rows_of(q_, row, count), rows_of(k_, col, cols),
                                                 bhnd(std::as_const(v_).data(), 1, 1, cols, 1),
                                                 {.scale = options_.scale});
  Tile tile{row, col, {count, cols, part.scaled.values}, {count, cols}, {}};
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < cols; ++j) {
      const bool seen = col + j < visible_keys(row + i);
      tile.visible.push_back(seen);
      if (seen) tile.weights(i, j) = std::exp(tile.scores(i, j) - double{lse_[row + i]});
    }
  return tile;
}

explain::Problem LongInput::entry(std::size_t row, std::size_t col) const {
  if (row >= n_q_ || col >= n_k_) refuse("no such entry");
  const auto vector = [&](const io::Array& array, std::size_t i) {
    const auto values = array.as<float>().subspan(i * d_, d_);
    return explain::Matrix(1, d_, std::vector<double>(values.begin(), values.end()));
  };
  explain::Problem problem;
  problem.values = explain::Problem::Values::none;
  if (options_.scale) problem.scale = *options_.scale;
  problem.inputs.kind = explain::Origin::Kind::imported;
  explain::Sequence sequence;
  sequence.q = {vector(q_, row)};
  sequence.k = {vector(k_, col)};
  sequence.tokens = {std::to_string(row + 1)};
  sequence.context_tokens = {std::to_string(col + 1)};
  problem.sequences = {std::move(sequence)};
  return problem;
}

}  // namespace heed::web
