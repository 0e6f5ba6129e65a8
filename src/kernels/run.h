// Runner: a described problem, planned once and run on the kernels any number of times. Behind
// heed::attention, heed::Plan and the caches; keys and values come from a RowStore, so they may be
// paged or int8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/buffer.h"
#include "base/problem.h"
#include "heed/attention.h"
#include "kernels/decode.h"
#include "kernels/kernel.h"
#include "kernels/prefill.h"
#include "kernels/targets.h"

namespace heed::kernels {

// What is demanded of the queries and the outputs, wherever the keys come from. Throw heed::Error.
inline constexpr std::initializer_list<DType> kFloats = {DType::f32, DType::f16, DType::bf16};
void require_queries(ConstTensorView q, const AttentionOptions& options);
void require_ends(const Problem& problem, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  TensorView out, RowView lse, const AttentionOptions& options);

class Runner {
 public:
  // Chooses the target, the kernel of each sequence and the threads, and allocates the workspace.
  // Of `run` only shapes and dtypes are read. Sequences may later have other lengths, as long as
  // none has more than `queries` queries or `keys` keys and there are no more of them in all.
  Runner(const Run& run, std::size_t queries, std::size_t keys, const Execution& execution);

  const PlanInfo& info() const { return info_; }

  // Allocates nothing. Throws heed::Cancelled if the progress callback says so, heed::Error if the
  // run does not fit the plan.
  void run(const Run& run);

 private:
  void choose_tasks(const Problem& problem);
  void plan_tasks(const Problem& problem);
  std::size_t workspace_bytes(const Problem& problem) const;

  Target target_;
  Progress progress_;
  PrefillExtent extent_;
  PrefillShape prefill_;
  DecodeShape decode_;
  std::vector<std::uint32_t> prefill_sequences_, decode_sequences_;
  std::vector<PrefillItem> prefill_items_;
  std::vector<DecodeItem> decode_items_;
  AlignedBuffer<std::byte> workspace_;
  PlanInfo info_;
};

}  // namespace heed::kernels
