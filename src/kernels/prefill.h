// Prefill: attention for sequences with many queries per key/value head.
//
// A task is one block of queries of all the heads that share a key/value head. It walks over the
// keys tile by tile, packs the tile's keys, and for each strip of a few rows computes scores, the
// softmax step and P V while they are in the nearest cache. Nothing of the size n_q x n_k exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/targets.h"

namespace heed::kernels {

// What a plan has to be large enough for: sequences of at most so many queries and keys, so many
// queries in all, and the threads that share them.
struct PrefillExtent {
  std::size_t queries = 0, keys = 0, tokens = 0, threads = 1;
};

// Sizes of tiles and of one thread's workspace; from shapes, dtypes and options alone but for the
// size of blocks, which no result depends on. The panel, strip and lanes are the target's.
struct PrefillShape {
  std::size_t panel = 0, strip = 0, lanes = 0;
  std::size_t group = 1;          // query heads per key/value head
  std::size_t block_queries = 0;  // of each head of the group, at most
  std::size_t tile_keys = 0;
  std::size_t query_stride = 0;  // d_k rounded up to whole vectors
  std::size_t value_stride = 0;  // d_v rounded up to a panel
  // Where the parts of a workspace begin, in floats, and how many there are.
  std::size_t q = 0, k = 0, v = 0, s = 0, o = 0, m = 0, l = 0, ranges = 0, scratch = 0, floats = 0;

  std::size_t score_stride() const { return tile_keys + 16; }  // rows fall into different sets
  // Of each block of a sequence but the last: all about alike, and whole strips.
  std::size_t block_of(std::size_t queries) const;
};

PrefillShape prefill_shape(const Problem& problem, const PrefillExtent& extent, Target target);

// A block of queries of a sequence and what it costs; tasks are these times the key/value heads.
struct PrefillItem {
  std::uint32_t sequence = 0, block = 0;
  double pairs = 0;  // visible (query, key) pairs of one head
};

// The blocks of the given sequences, most expensive first.
void prefill_items(const Problem& problem, const PrefillShape& shape,
                   std::span<const std::uint32_t> sequences, std::vector<PrefillItem>& items);

// Returns false if the run was cancelled.
bool run_prefill(const Run& run, const PrefillShape& shape, std::span<const PrefillItem> items,
                 Target target, Crew& crew);

}  // namespace heed::kernels
