#include "cli/run_reference.h"

#include <algorithm>
#include <array>

#include "heed/error.h"

namespace heed::cli {
namespace {

// The reference keeps five doubles and a byte for each score.
constexpr std::size_t kScoreBytes = 5 * sizeof(double) + 1;
constexpr std::size_t kBlockBytes = std::size_t{8} << 20;

// A view of some tokens of one head.
ConstTensorView slice(ConstTensorView from, std::size_t batch, std::size_t head, std::size_t first,
                      std::size_t tokens) {
  const auto at = [](std::size_t i, std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(i) * stride;
  };
  const std::ptrdiff_t offset =
      at(batch, from.batch_stride) + at(head, from.head_stride) + at(first, from.token_stride);
  from.data = static_cast<const std::byte*>(from.data) + at(size_of(from.dtype), offset);
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
    if (from.sizes[axis] != 1)
      offset += static_cast<std::ptrdiff_t>(begin[axis]) * from.strides[axis];
  from.data = static_cast<const std::byte*>(from.data) +
              offset * static_cast<std::ptrdiff_t>(size_of(from.dtype));
  from.sizes = {1, 1, from.sizes[2] == 1 ? 1 : rows, from.sizes[3] == 1 ? 1 : keys};
  return from;
}

// Where query 0 of a sequence stands among its keys, as options.h says.
std::int64_t offset_of(const AttentionOptions& options, std::size_t sequence,
                       std::int64_t key_length, std::size_t queries) {
  if (!options.query_offsets.empty()) return options.query_offsets[sequence];
  if (options.query_offset) return *options.query_offset;
  const bool lower_right = options.causal == Causal::lower_right;
  return lower_right ? key_length - static_cast<std::int64_t>(queries) : 0;
}

}  // namespace

std::vector<SequenceExtent> sequence_extents(ConstTensorView q, ConstTensorView k,
                                             const AttentionOptions& options) {
  std::vector<SequenceExtent> extents;
  if (options.cu_seqlens_q.empty()) {
    for (std::size_t b = 0; b < q.batch; ++b) extents.push_back({b, 0, 0, q.tokens, k.tokens});
    return extents;
  }
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  for (std::size_t n = 1; n < options.cu_seqlens_q.size(); ++n) {
    const std::size_t query = size(options.cu_seqlens_q[n - 1]);
    const std::size_t key = size(options.cu_seqlens_k[n - 1]);
    extents.push_back({0, query, key, size(options.cu_seqlens_q[n]) - query,
                       size(options.cu_seqlens_k[n]) - key});
  }
  return extents;
}

void for_each_reference_block(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                              const AttentionOptions& options, const Progress& progress,
                              const std::function<void(const ReferenceBlock&)>& use) {
  const auto extents = sequence_extents(q, k, options);
  const std::size_t group = q.heads / k.heads;
  for (std::size_t n = 0; n < extents.size(); ++n) {
    const SequenceExtent& at = extents[n];
    const std::int64_t length =
        options.key_lengths.empty() ? static_cast<std::int64_t>(at.keys) : options.key_lengths[n];
    const std::int64_t offset = offset_of(options, n, length, at.queries);
    const std::size_t most_rows =
        std::max<std::size_t>(1, kBlockBytes / (kScoreBytes * std::max<std::size_t>(1, at.keys)));
    AttentionOptions block = options;
    block.query_offsets = {};
    block.cu_seqlens_q = block.cu_seqlens_k = {};
    block.key_lengths = {&length, 1};
    for (std::size_t h = 0; h < q.heads; ++h) {
      if (!options.alibi_slopes.empty()) block.alibi_slopes = options.alibi_slopes.subspan(h, 1);
      if (!options.sinks.empty()) block.sinks = options.sinks.subspan(h, 1);
      for (std::size_t i = 0; i < at.queries; i += most_rows) {
        const std::size_t rows = std::min(most_rows, at.queries - i);
        block.query_offset = offset + static_cast<std::int64_t>(i);
        block.mask = slice(options.mask, n, h, i, rows, at.keys);
        block.bias = slice(options.bias, n, h, i, rows, at.keys);
        const auto work = reference::attention<double>(
            slice(q, at.batch, h, at.first_query + i, rows),
            slice(k, at.batch, h / group, at.first_key, at.keys),
            slice(v, at.batch, h / group, at.first_key, at.keys), block);
        use({n, h, i, at.first_query + i, work});
        const double done = (static_cast<double>(n * q.heads + h) +
                             static_cast<double>(i + rows) / static_cast<double>(at.queries)) /
                            static_cast<double>(extents.size() * q.heads);
        if (progress.call != nullptr && !progress.call(done, progress.user))
          throw Cancelled("stopped");
      }
    }
  }
}

}  // namespace heed::cli
