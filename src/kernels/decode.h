// Decode: attention for sequences with few queries, which costs what reading their keys and values
// costs.
//
// All query heads of a key/value head and all queries are rows of one pass, so that every key and
// value is read once. The keys are cut into splits by the length of the sequence alone; each split
// leaves an attention state, and the states are merged in the order of the keys. A task is one
// split, or, where there are enough sequences and heads to occupy the threads, all splits of one
// head one after the other: the same merges in the same order, so the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/targets.h"

namespace heed::kernels {

// Whether a sequence is decoded; the others are prefilled. From its own shape alone.
bool decodes(const Sequence& sequence);

// Sizes of tiles and of one thread's workspace; from shapes, dtypes and options alone.
struct DecodeShape {
  std::size_t lanes = 0;        // the target's
  std::size_t group = 1;        // query heads per key/value head
  std::size_t rows = 0;         // most rows of any sequence: group * queries, padded to strips
  std::size_t most_splits = 1;  // of any sequence
  std::size_t q_stride = 0, o_stride = 0;  // d_k and d_v rounded up to two vectors
  // Where the parts of a workspace begin, in floats, and how many there are.
  std::size_t q = 0, s = 0, scales = 0, hidden = 0, scratch = 0;
  std::size_t q16 = 0, p16 = 0, steps = 0, sums = 0;  // of int8
  std::size_t state = 0, kept = 0, whole = 0;
  std::size_t floats = 0;

  std::size_t state_floats() const { return rows * (o_stride + 2); }  // o, m and l of every row
};

// Keys of one tile of scores, for so many rows: their scores stay in the nearer caches.
std::size_t decode_tile_keys(std::size_t rows);

// For sequences of at most `queries` queries (of those that are decoded) and `keys` keys.
DecodeShape decode_shape(const Problem& problem, const KeyValues& kv, std::size_t queries,
                         std::size_t keys, Target target);

// The keys of one key/value head of a sequence; tasks are these, times the key/value heads, times
// the splits if heads alone are too few.
struct DecodeItem {
  std::uint32_t sequence = 0, splits = 0;
  KeyRange keys;     // that any of its queries sees
  double pairs = 0;  // visible (query, key) pairs of one head
};

// One per given sequence, most expensive first.
void decode_items(const Problem& problem, std::span<const std::uint32_t> sequences,
                  std::vector<DecodeItem>& items);

// Whether so many heads of sequences are too few for the threads, so that splits become tasks.
bool decode_splits(std::size_t heads, std::size_t threads);

// Bytes of workspace for any number of items between `fewest` and `most`.
std::size_t decode_workspace(const Problem& problem, const DecodeShape& shape, std::size_t fewest,
                             std::size_t most, std::size_t threads);

// Returns false if the run was cancelled.
bool run_decode(const Run& run, const DecodeShape& shape, std::span<const DecodeItem> items,
                Target target, Crew& crew);

}  // namespace heed::kernels
