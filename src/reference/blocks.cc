// The reference a few rows at a time.
#include <algorithm>
#include <array>
#include <limits>

#include "base/problem.h"
#include "heed/reference.h"

namespace heed::reference {
namespace {

// Five doubles and a byte are kept for each score.
constexpr std::size_t kScoreBytes = 5 * sizeof(double) + 1;

std::ptrdiff_t distance_of(std::size_t i, std::ptrdiff_t stride) {
  return static_cast<std::ptrdiff_t>(i) * stride;
}

// A view of some tokens of one head.
ConstTensorView slice(ConstTensorView from, std::size_t batch, std::size_t head, std::size_t first,
                      std::size_t tokens) {
  const std::ptrdiff_t offset = distance_of(batch, from.batch_stride) +
                                distance_of(head, from.head_stride) +
                                distance_of(first, from.token_stride);
  if (from.data != nullptr)
    from.data = static_cast<const std::byte*>(from.data) + distance_of(size_of(from.dtype), offset);
  from.batch = from.heads = 1;
  from.tokens = tokens;
  return from;
}

// The rows of a mask or bias that belong to a block; broadcast axes stay so.
ScoreView slice(ScoreView from, std::size_t sequence, std::size_t head, std::size_t row,
                std::size_t rows, std::size_t keys) {
  if (!from) return from;
  const std::array<std::size_t, 3> begin = {sequence, head, row};
  std::ptrdiff_t offset = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (from.sizes[axis] != 1) offset += distance_of(begin[axis], from.strides[axis]);
  from.data = static_cast<const std::byte*>(from.data) + distance_of(size_of(from.dtype), offset);
  from.sizes = {1, 1, from.sizes[2] == 1 ? 1 : rows, from.sizes[3] == 1 ? 1 : keys};
  return from;
}

// offset + i; where that is beyond every key, and beyond what fits, as far as fits.
std::int64_t shifted(std::int64_t offset, std::size_t i) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto by = static_cast<std::int64_t>(i);
  return offset > kMost - by ? kMost : offset + by;
}

// The caller's score_mod, told where the block's tile lies in the whole.
struct PlacedScoreMod {
  ScoreMod mod;
  std::size_t batch = 0, head = 0, query = 0;

  template <class T>
  ScoreTile<T> placed(ScoreTile<T> tile) const {
    tile.batch = batch;
    tile.head = head;
    tile.query += query;
    return tile;
  }

  ScoreMod forwarding() {
    ScoreMod to;
    to.user = this;
    if (mod.f32 != nullptr)
      to.f32 = [](const ScoreTile<float>& tile, void* self) {
        const auto& me = *static_cast<PlacedScoreMod*>(self);
        me.mod.f32(me.placed(tile), me.mod.user);
      };
    if (mod.f64 != nullptr)
      to.f64 = [](const ScoreTile<double>& tile, void* self) {
        const auto& me = *static_cast<PlacedScoreMod*>(self);
        me.mod.f64(me.placed(tile), me.mod.user);
      };
    return to;
  }
};

// The options of one head of a sequence, but for what changes from row to row.
AttentionOptions head_options(const AttentionOptions& options, std::size_t head,
                              const std::int64_t& key_length) {
  AttentionOptions block = options;
  block.query_offsets = {};
  block.cu_seqlens_q = block.cu_seqlens_k = {};
  block.key_lengths = {&key_length, 1};
  if (!options.alibi_slopes.empty()) block.alibi_slopes = options.alibi_slopes.subspan(head, 1);
  if (!options.sinks.empty()) block.sinks = options.sinks.subspan(head, 1);
  return block;
}

}  // namespace

void for_each_block(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                    const AttentionOptions& options, const Progress& progress,
                    const std::function<void(const Block&)>& use, std::size_t block_bytes) {
  const Problem problem = describe(q, k, v, options);
  const std::size_t heads = problem.query_heads;
  const double heads_in_all = static_cast<double>(problem.sequences.size() * heads);
  PlacedScoreMod placed{options.score_mod};
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    const Sequence& at = problem.sequences[n];
    const auto key_length = static_cast<std::int64_t>(at.key_length);
    const std::size_t most_rows =
        std::max<std::size_t>(1, block_bytes / kScoreBytes / std::max<std::size_t>(1, at.keys));
    for (std::size_t h = 0; h < heads; ++h) {
      AttentionOptions block = head_options(options, h, key_length);
      const ConstTensorView keys = slice(k, at.batch, problem.kv_head(h), at.first_key, at.keys);
      const ConstTensorView values = slice(v, at.batch, problem.kv_head(h), at.first_key, at.keys);
      for (std::size_t i = 0; i < at.queries; i += most_rows) {
        const std::size_t rows = std::min(most_rows, at.queries - i);
        block.query_offset = shifted(at.offset, i);
        block.mask = slice(options.mask, n, h, i, rows, at.keys);
        block.bias = slice(options.bias, n, h, i, rows, at.keys);
        placed.batch = n;
        placed.head = h;
        placed.query = i;
        if (options.score_mod) block.score_mod = placed.forwarding();
        const std::size_t token = at.first_query + i;
        const auto steps =
            attention<double>(slice(q, at.batch, h, token, rows), keys, values, block);
        use({n, at.batch, h, i, token, steps});
        const double done = (static_cast<double>(n * heads + h) +
                             static_cast<double>(i + rows) / static_cast<double>(at.queries)) /
                            heads_in_all;
        if (progress.call != nullptr && !progress.call(done, progress.user))
          throw Cancelled("attention: cancelled by the progress callback");
      }
    }
  }
}

}  // namespace heed::reference
