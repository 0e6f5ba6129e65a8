#include "kernels/decode.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "base/buffer.h"
#include "base/checks.h"
#include "base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/decode.cc"
#include "kernels/decode_int8_split-inl.h"
#include "kernels/decode_split-inl.h"
#include "kernels/foreach_target.h"  // must come before the per-target code

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

template <class F>
HWY_INLINE void WithStored(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f16: return f(f16());
    case DType::bf16: return f(bf16());
    // NOLINTNEXTLINE(bugprone-branch-clone): not alike, each has its own type
    case DType::i8: return f(std::int8_t());
    default: return f(float());
  }
}

template <class T>
using SplitOf = std::conditional_t<std::is_same_v<T, std::int8_t>, ByteSplit, Split<T>>;

void DecodeSplit(const kernels::DecodeTask& task) {
  WithStored(task.run->kv.k.dtype, [&](auto stored) { SplitOf<decltype(stored)>(task).Run(); });
}

void DecodeFinish(const kernels::DecodeTask& task) {
  WithStored(task.run->kv.k.dtype, [&](auto stored) { SplitOf<decltype(stored)>(task).Finish(); });
}

std::size_t DecodeLanes() {
  return kLanes;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(DecodeSplit);
HWY_EXPORT(DecodeFinish);
HWY_EXPORT(DecodeLanes);

namespace kernels {
namespace {

// Decode wins up to 8 queries with 1 or 4 heads a group, prefill from 5 on with 8: 4 suits all.
constexpr std::size_t kMostQueries = 4;
// A split is worth a task of its own from here on; its merge costs less than 1 % of it. Where there
// are several heads to share out, longer ones: memory likes long stretches.
constexpr std::size_t kLeastSplitKeys = 512, kLeastLongSplitKeys = 1024, kSeveralHeads = 4;
// Splits of one sequence, over all its key/value heads: for so many threads.
constexpr std::size_t kMostSplits = 256;
// Heads per thread from which on they are tasks as they are.
constexpr std::size_t kHeadsPerThread = 4;

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::size_t split_count(std::size_t keys, std::size_t kv_heads) {
  const std::size_t least = kv_heads < kSeveralHeads ? kLeastSplitKeys : kLeastLongSplitKeys;
  const std::size_t most = std::max<std::size_t>(1, kMostSplits / kv_heads);
  return std::clamp<std::size_t>(keys / least, 1, most);
}

// Three rows over a multiple of four are a strip of four.
std::size_t padded_rows(std::size_t rows) {
  return rows % 4 == 3 ? rows + 1 : rows;
}

KeyRange visible_to_any(const Problem& problem, const Sequence& sequence) {
  const KeyRange first = problem.visible_keys(sequence, 0);
  const KeyRange last = problem.visible_keys(sequence, sequence.queries - 1);
  return {first.begin, std::max(first.begin, last.end)};
}

KeyRange split_of(const DecodeItem& item, std::size_t split) {
  const std::size_t n = item.keys.size();
  return {item.keys.begin + n * split / item.splits,
          item.keys.begin + n * (split + 1) / item.splits};
}

void merge_into(const DecodeState& into, const DecodeState& other, std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) {
    AttentionState state = into.row(r);
    merge_as(state, other.row(r), [](float x) { return std::exp2(x); });
    into.m[r] = state.m;
    into.l[r] = state.l;
  }
}

}  // namespace

bool decodes(const Sequence& sequence) {
  return sequence.queries <= kMostQueries;
}

std::size_t decode_tile_keys(std::size_t rows) {
  constexpr std::size_t kTileScores = 16384, kLeast = 32, kMost = 1024;
  return std::clamp(kTileScores / std::max<std::size_t>(1, rows) / kLeast * kLeast, kLeast, kMost);
}

DecodeShape decode_shape(const Problem& problem, const KeyValues& kv, std::size_t queries,
                         std::size_t keys, Target target) {
  DecodeShape shape;
  shape.lanes = HEED_FUNCTION(DecodeLanes, target)();
  shape.group = problem.query_heads / problem.kv_heads;
  queries = std::min(queries, kMostQueries);
  shape.rows = padded_rows(checked_product("attention: workspace", {shape.group, queries}));
  shape.most_splits = split_count(keys, problem.kv_heads);
  shape.q_stride = round_up(problem.key_dim, 2 * shape.lanes);
  shape.o_stride = round_up(problem.value_dim, 2 * shape.lanes);

  std::size_t scores = 0, tile = 0;
  for (std::size_t n = 1; n <= queries; ++n) {
    const std::size_t t = decode_tile_keys(shape.group * n);
    tile = std::max(tile, decode_score_stride(t));
    scores = std::max(scores, padded_rows(shape.group * n) * decode_score_stride(t));
  }
  const auto take = [&](std::size_t floats) {
    const std::size_t begin = shape.floats;
    shape.floats += round_up(floats, kAlignment / sizeof(float));
    return begin;
  };
  shape.q = take(checked_product("attention: workspace", {shape.rows, shape.q_stride}));
  shape.s = take(scores);
  if (kv.k.dtype == DType::i8) {
    constexpr std::size_t kHalf = sizeof(float) / sizeof(std::int16_t);
    shape.scales = take(tile);
    shape.q16 = take(shape.rows * shape.q_stride / kHalf);
    shape.p16 = take(shape.rows * kDecodeBlockKeys / kHalf);
    shape.steps = take(2 * shape.rows);
    shape.sums = take(checked_product("attention: workspace", {shape.rows, shape.o_stride}));
  }
  shape.hidden = take(scores / sizeof(float) + 1);
  shape.scratch = take(std::max(tile, shape.o_stride));
  checked_product("attention: workspace", {shape.rows, shape.o_stride + 2});
  for (std::size_t* state : {&shape.state, &shape.kept, &shape.whole})
    *state = take(shape.state_floats());
  return shape;
}

void decode_items(const Problem& problem, std::span<const std::uint32_t> sequences,
                  std::vector<DecodeItem>& items) {
  items.clear();
  for (const std::uint32_t n : sequences) {
    const Sequence& sequence = problem.sequences[n];
    if (sequence.queries == 0) continue;
    DecodeItem item;
    item.sequence = n;
    item.keys = visible_to_any(problem, sequence);
    item.splits = static_cast<std::uint32_t>(split_count(item.keys.size(), problem.kv_heads));
    item.pairs = static_cast<double>(item.keys.size() * sequence.queries);
    items.push_back(item);
  }
  std::sort(items.begin(), items.end(), [](const DecodeItem& a, const DecodeItem& b) {
    return a.pairs != b.pairs ? a.pairs > b.pairs : a.sequence < b.sequence;
  });
}

bool decode_splits(std::size_t heads, std::size_t threads) {
  return threads > 1 && heads < kHeadsPerThread * threads;
}

namespace {

// One run: the states of all splits where splits are tasks, and who finished last.
class Decode {
 public:
  Decode(const Run& run, const DecodeShape& shape, std::span<const DecodeItem> items, Target target,
         Crew& crew)
      : run_(run),
        shape_(shape),
        items_(items),
        heads_(run.problem->kv_heads),
        rules_(score_rules(*run.problem, *run.options)),
        split_(HEED_FUNCTION(DecodeSplit, target)),
        finish_(HEED_FUNCTION(DecodeFinish, target)),
        crew_(crew) {}

  bool run() {
    const std::size_t heads = items_.size() * heads_;
    if (!decode_splits(heads, crew_.threads()))
      return share(heads, [&](std::size_t index, std::size_t worker) { do_head(index, worker); });
    const std::size_t tasks = heads * shape_.most_splits;
    std::atomic<std::uint32_t>* left = counters();
    for (std::size_t head = 0; head < heads; ++head)
      std::construct_at(left + head, items_[head / heads_].splits);
    return share(tasks, [&](std::size_t index, std::size_t worker) {
      do_split(index / shape_.most_splits, index % shape_.most_splits, worker);
    });
  }

 private:
  template <class F>
  bool share(std::size_t tasks, F&& f) {
    return parallel_for(tasks, crew_.threads(), [&](std::size_t index, std::size_t worker) {
      f(index, worker);
      return !crew_.cancelled();
    });
  }

  DecodeTask task_of(std::size_t head, std::size_t worker) const {
    const DecodeItem& item = items_[head / heads_];
    DecodeTask task;
    task.run = &run_;
    task.rules = &rules_;
    task.shape = &shape_;
    task.sequence = item.sequence;
    task.kv_head = head % heads_;
    task.workspace = reinterpret_cast<float*>(crew_.workspace().data()) + worker * shape_.floats;
    return task;
  }

  std::size_t rows_of(std::size_t head) const {
    return shape_.group * run_.problem->sequences[items_[head / heads_].sequence].queries;
  }

  // All splits of one head, one after the other.
  void do_head(std::size_t head, std::size_t worker) {
    const DecodeItem& item = items_[head / heads_];
    DecodeTask task = task_of(head, worker);
    const DecodeState whole = decode_state(shape_, task.workspace + shape_.whole);
    for (std::size_t split = 0; split < item.splits; ++split) {
      task.keys = split_of(item, split);
      task.state = split == 0 ? whole : decode_state(shape_, task.workspace + shape_.state);
      split_(task);
      task.packed = true;
      if (split != 0) merge_into(whole, task.state, rows_of(head));
      crew_.did(item.pairs / item.splits);
      if (crew_.cancelled()) return;
    }
    task.state = whole;
    finish_(task);
  }

  // One split; whoever does the last one of a head merges them all, in the order of the keys.
  void do_split(std::size_t head, std::size_t split, std::size_t worker) {
    const DecodeItem& item = items_[head / heads_];
    if (split >= item.splits) return;
    DecodeTask task = task_of(head, worker);
    task.keys = split_of(item, split);
    task.state = stored(head, split);
    split_(task);
    crew_.did(item.pairs / item.splits);
    if (counters()[head].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    task.state = stored(head, 0);
    for (std::size_t n = 1; n < item.splits; ++n)
      merge_into(task.state, stored(head, n), rows_of(head));
    finish_(task);
  }

  // Behind the threads' own workspace: the states of every split, then the counters.
  DecodeState stored(std::size_t head, std::size_t split) const {
    auto* floats =
        reinterpret_cast<float*>(crew_.workspace().data()) + crew_.threads() * shape_.floats;
    return decode_state(shape_,
                        floats + (head * shape_.most_splits + split) * shape_.state_floats());
  }
  std::atomic<std::uint32_t>* counters() const {
    const std::size_t heads = items_.size() * heads_;
    return reinterpret_cast<std::atomic<std::uint32_t>*>(stored(heads, 0).o);
  }

  const Run& run_;
  const DecodeShape& shape_;
  std::span<const DecodeItem> items_;
  const std::size_t heads_;
  const ScoreRules rules_;
  void (*split_)(const DecodeTask&);
  void (*finish_)(const DecodeTask&);
  Crew& crew_;
};

}  // namespace

std::size_t decode_workspace(const Problem& problem, const DecodeShape& shape, std::size_t fewest,
                             std::size_t most, std::size_t threads) {
  const auto product = [](std::initializer_list<std::size_t> sizes) {
    return checked_product("attention: workspace", sizes);
  };
  const std::size_t own = product({threads, shape.floats, sizeof(float)});
  if (!decode_splits(product({fewest, problem.kv_heads}), threads)) return own;
  const std::size_t heads = std::min(product({most, problem.kv_heads}), kHeadsPerThread * threads);
  return own + product({heads, shape.most_splits, shape.state_floats(), sizeof(float)}) +
         product({heads, sizeof(std::atomic<std::uint32_t>)});
}

bool run_decode(const Run& run, const DecodeShape& shape, std::span<const DecodeItem> items,
                Target target, Crew& crew) {
  return Decode(run, shape, items, target, crew).run();
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
