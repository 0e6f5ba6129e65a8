// Attention over rows of a cache: the problem described from shapes, then run on the kernels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/problem.h"
#include "heed/kv_cache.h"
#include "kernels/rows.h"

namespace heed::cache {

// Rows in place, as kernels read them.
kernels::RowStore row_store(ConstTensorView rows, ScaleView scales);

// Keys (or values) as a problem is described from: their sizes, and no data.
ConstTensorView shape_only(std::size_t batch, std::size_t heads, std::size_t tokens,
                           std::size_t dim);

// Runs a problem that was described from these operands and options; or tells what would run.
void run(const Problem& problem, ConstTensorView q, const kernels::KeyValues& kv, TensorView out,
         RowView lse, const AttentionOptions& options, const Execution& execution);
PlanInfo plan(const Problem& problem, ConstTensorView q, const kernels::KeyValues& kv,
              const AttentionOptions& options, const Execution& execution);

// The sequences of a call as kernels see them: how long each is, and where its pages are.
struct PagedSequences {
  std::vector<std::int64_t> lengths;
  std::vector<std::int32_t> table;  // [sequences, pages of the longest]
  std::size_t table_stride = 0;
  std::size_t longest = 0;

  PagedSequences(const PagedKVCache& cache, std::span<const SequenceId> sequences);

  // Without the first `pages` pages of each.
  kernels::KeyValues rows(const PagedKVCache& cache, std::size_t pages = 0) const;
};

// Attention of some sequences, checked. Stays where it is: the options point into it.
struct PagedProblem {
  PagedSequences sequences;
  AttentionOptions options;  // the caller's, and the lengths of the keys
  Problem problem;

  PagedProblem(ConstTensorView q, const PagedKVCache& cache, std::span<const SequenceId> ids,
               const AttentionOptions& given);
  PagedProblem(const PagedProblem&) = delete;
  PagedProblem& operator=(const PagedProblem&) = delete;

 private:
  std::vector<std::int64_t> begins_;  // ragged: where keys would begin, one after the other
};

}  // namespace heed::cache
