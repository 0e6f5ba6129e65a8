// The reference in blocks of rows: scores and double results of problems whose score matrix must
// never be in memory as a whole.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "heed/options.h"
#include "heed/reference.h"
#include "heed/view.h"

namespace heed::cli {

// Rows [first_row, first_row + rows of work.o) of one head of one sequence, every step kept.
struct ReferenceBlock {
  std::size_t sequence = 0, head = 0, first_row = 0;
  std::size_t first_query = 0;  // token of the query tensor that first_row is
  const reference::Attention<double>& work;
};

// One sequence of the batch, in the terms of the query and key tensors.
struct SequenceExtent {
  std::size_t batch = 0, first_query = 0, first_key = 0, queries = 0, keys = 0;
};
std::vector<SequenceExtent> sequence_extents(ConstTensorView q, ConstTensorView k,
                                             const AttentionOptions& options);

// Calls `use` for block after block: sequences, then heads, then rows, all in order. The inputs are
// ones that heed::Plan has accepted. `progress` may stop it,
// which throws Cancelled.
void for_each_reference_block(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                              const AttentionOptions& options, const Progress& progress,
                              const std::function<void(const ReferenceBlock&)>& use);

}  // namespace heed::cli
