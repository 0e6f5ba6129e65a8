#include "kernels/prefill.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/prefill.cc"
#include "kernels/foreach_target.h"  // must come before the per-target code
#include "kernels/prefill-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

void PrefillTask(const kernels::PrefillBlock& block) {
  switch (block.run->kv.k.dtype) {
    case DType::f16: return RunBlock<f16>(block);
    case DType::bf16: return RunBlock<bf16>(block);
    case DType::i8: return RunBlock<std::int8_t>(block);
    default: return RunBlock<float>(block);
  }
}

kernels::PrefillGeometry TargetGeometry() {
  return {kPanel, kRows, kLanes};
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(PrefillTask);
HWY_EXPORT(TargetGeometry);

namespace kernels {
namespace {

// The keys and values of a tile take half of a 512 KB second-level cache: 512 of 64 channels each,
// fewer of more. Queries and results pass through the other half.
constexpr std::size_t kTileFloats = 512 * 64, kMostTileKeys = 512, kLeastTileKeys = 64;

// Rows of a block are those of all heads of the group. Packing a tile costs as much as a few rows
// against it, so it should serve kGoodBlockRows of them; more pay off where there is work enough to
// share out evenly, fewer only where threads would be without.
constexpr std::size_t kMostBlockRows = 1032, kGoodBlockRows = 516, kLeastBlockRows = 96;
constexpr std::size_t kBlockFloats = kMostBlockRows * 128;
constexpr std::size_t kEvenBlocks = 8, kFewBlocks = 2;  // for every thread

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::size_t tile_keys(std::size_t dim) {
  const std::size_t fit = kTileFloats / dim / kLeastTileKeys * kLeastTileKeys;
  return std::clamp(fit, kLeastTileKeys, kMostTileKeys);
}

std::size_t block_rows(std::size_t rows_in_all, std::size_t threads, std::size_t dim) {
  const std::size_t most = std::min(kMostBlockRows, kBlockFloats / dim);
  if (threads == 1) return most;
  const std::size_t even = rows_in_all / (kEvenBlocks * threads);
  const std::size_t few = std::max(rows_in_all / (kFewBlocks * threads), kLeastBlockRows);
  return std::min(most, std::max(even, std::min(few, kGoodBlockRows)));
}

PrefillBlock block_at(const Run& run, const ScoreRules& rules, const PrefillShape& shape,
                      const PrefillItem& item, std::size_t kv_head, Crew& crew, float* workspace) {
  const std::size_t queries = run.problem->sequences[item.sequence].queries;
  const std::size_t most = shape.block_of(queries);
  PrefillBlock block;
  block.run = &run;
  block.rules = &rules;
  block.shape = &shape;
  block.sequence = item.sequence;
  block.kv_head = kv_head;
  block.first_query = item.block * most;
  block.queries = std::min(most, queries - block.first_query);
  block.pairs = item.pairs;
  block.crew = &crew;
  block.workspace = workspace;
  return block;
}

}  // namespace

std::size_t PrefillShape::block_of(std::size_t queries) const {
  if (queries <= block_queries) return queries;
  const std::size_t blocks = (queries + block_queries - 1) / block_queries;
  return round_up((queries + blocks - 1) / blocks, strip);
}

PrefillShape prefill_shape(const Problem& problem, const PrefillExtent& extent, Target target) {
  const PrefillGeometry geometry = HEED_FUNCTION(TargetGeometry, target)();
  PrefillShape shape;
  shape.panel = geometry.panel;
  shape.strip = geometry.strip;
  shape.lanes = geometry.lanes;
  shape.group = problem.query_heads / problem.kv_heads;
  const std::size_t dim = std::max(problem.key_dim, problem.value_dim);
  const std::size_t most_rows =
      block_rows(extent.tokens * problem.query_heads, extent.threads, dim);
  const std::size_t strips = std::max<std::size_t>(2, most_rows / shape.group / shape.strip);
  shape.block_queries = std::min(strips * shape.strip, std::max<std::size_t>(1, extent.queries));
  shape.tile_keys = tile_keys(dim);
  shape.value_stride = round_up(problem.value_dim, geometry.panel);
  shape.query_stride = round_up(problem.key_dim, geometry.lanes);

  const std::size_t rows = shape.block_queries * shape.group;
  const std::size_t tile = std::min(shape.tile_keys, round_up(extent.keys, geometry.panel));
  const auto take = [&](std::size_t floats) {
    const std::size_t begin = shape.floats;
    shape.floats += round_up(floats, kAlignment / sizeof(float));
    return begin;
  };
  shape.q = take(checked_product("attention: workspace", {geometry.strip, shape.query_stride}));
  shape.k = take(checked_product("attention: workspace", {tile, problem.key_dim}));
  shape.v = take(checked_product("attention: workspace", {tile, shape.value_stride}));
  shape.s = take(geometry.strip * shape.score_stride());
  shape.o = take(checked_product("attention: workspace", {rows, shape.value_stride}));
  shape.m = take(rows);
  shape.l = take(rows * geometry.lanes);
  shape.ranges = take(shape.block_queries * sizeof(KeyRange) / sizeof(float));
  shape.scratch = take(tile + geometry.panel);
  return shape;
}

void prefill_items(const Problem& problem, const PrefillShape& shape,
                   std::span<const std::uint32_t> sequences, std::vector<PrefillItem>& items) {
  items.clear();
  for (const std::uint32_t n : sequences) {
    const Sequence& sequence = problem.sequences[n];
    std::uint32_t block = 0;
    const std::size_t most = shape.block_of(sequence.queries);
    for (std::size_t i = 0; i < sequence.queries; i += most, ++block) {
      const std::size_t count = std::min(most, sequence.queries - i);
      // Ranges grow linearly but for their ends: the mean of the first and the last will do.
      const double first = static_cast<double>(problem.visible_keys(sequence, i).size());
      const double last = static_cast<double>(problem.visible_keys(sequence, i + count - 1).size());
      items.push_back({n, block, static_cast<double>(count) * (first + last) / 2});
    }
  }
  std::sort(items.begin(), items.end(), [](const PrefillItem& a, const PrefillItem& b) {
    if (a.pairs != b.pairs) return a.pairs > b.pairs;
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.block < b.block;
  });
}

bool run_prefill(const Run& run, const PrefillShape& shape, std::span<const PrefillItem> items,
                 Target target, Crew& crew) {
  const auto task = HEED_FUNCTION(PrefillTask, target);
  const ScoreRules rules = score_rules(*run.problem, *run.options);
  auto* workspace = reinterpret_cast<float*>(crew.workspace().data());
  const std::size_t heads = run.problem->kv_heads;
  const std::size_t tasks = items.size() * heads;
  return crew.for_each(tasks, [&](std::size_t index, std::size_t next, std::size_t worker) {
    const auto block_of = [&](std::size_t n) {
      return block_at(run, rules, shape, items[n / heads], n % heads, crew,
                      workspace + worker * shape.floats);
    };
    PrefillBlock block = block_of(index), following;
    if (next < tasks) {
      following = block_of(next);
      block.next = &following;
    }
    task(block);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
