#include "kernels/run.h"

#include <algorithm>

#include "base/checks.h"

namespace heed::kernels {
namespace {

// Waking a thread costs some microseconds: work for less than about ten times that is not shared.
constexpr double kFlopsPerThread = 4e6;

double visible_pairs(const Problem& problem) {
  double pairs = 0;
  for (const Sequence& sequence : problem.sequences)
    for (std::size_t i = 0; i < sequence.queries; ++i)
      pairs += static_cast<double>(problem.visible_keys(sequence, i).size());
  return pairs * static_cast<double>(problem.query_heads);
}

double elements(const Problem& problem, std::size_t Sequence::*tokens, std::size_t heads,
                std::size_t dim) {
  double sum = 0;
  for (const Sequence& sequence : problem.sequences) sum += static_cast<double>(sequence.*tokens);
  return sum * static_cast<double>(heads) * static_cast<double>(dim);
}

double bytes_moved(const Run& run) {
  const Problem& p = *run.problem;
  const auto of = [](DType dtype) { return static_cast<double>(size_of(dtype)); };
  const std::size_t both = p.key_dim + p.value_dim;
  return elements(p, &Sequence::queries, p.query_heads, both) * of(run.q.dtype) +
         elements(p, &Sequence::key_length, p.kv_heads, both) * of(run.kv.k.dtype);
}

}  // namespace

Runner::Runner(const Run& run, std::size_t queries, std::size_t keys, const Execution& execution)
    : target_(chosen_target()),
      progress_(execution.progress),
      queries_(queries),
      keys_(keys),
      prefill_(prefill_shape(*run.problem, run.kv, queries, keys, target_)) {
  const Problem& problem = *run.problem;
  prefill_sequences_.reserve(problem.sequences.size());
  const std::size_t tokens = problem.ragged ? queries : queries * problem.sequences.size();
  prefill_items_.reserve(tokens / prefill_.block_queries + problem.sequences.size());
  choose_tasks(problem);

  info_.kernel = "prefill";
  info_.target = name_of(target_);
  info_.tile_queries = prefill_.strip;
  info_.tile_keys = prefill_.tile_keys;
  info_.tasks = prefill_items_.size() * problem.kv_heads;
  info_.flops =
      visible_pairs(problem) * 2 * static_cast<double>(problem.key_dim + problem.value_dim);
  info_.bytes = bytes_moved(run);
  const auto worthwhile = static_cast<std::size_t>(std::max(1.0, info_.flops / kFlopsPerThread));
  info_.threads = std::max<std::size_t>(
      1, std::min({thread_count(execution.threads), worthwhile, info_.tasks}));
  workspace_ = AlignedBuffer<std::byte>(
      checked_product("attention: workspace", {info_.threads, prefill_.floats, sizeof(float)}));
  info_.workspace_bytes = workspace_.size();
}

void Runner::choose_tasks(const Problem& problem) {
  prefill_sequences_.clear();
  for (std::size_t n = 0; n < problem.sequences.size(); ++n)
    prefill_sequences_.push_back(static_cast<std::uint32_t>(n));
  prefill_items(problem, prefill_, prefill_sequences_, prefill_items_);
}

void Runner::run(const Run& run) {
  const PrefillShape needed = prefill_shape(*run.problem, run.kv, queries_, keys_, target_);
  require(needed.floats <= prefill_.floats && needed.group == prefill_.group,
          "attention: the run needs ", needed.floats * sizeof(float),
          " bytes of workspace per thread but was planned with ", prefill_.floats * sizeof(float));
  choose_tasks(*run.problem);
  double pairs = 0;
  for (const PrefillItem& item : prefill_items_) pairs += item.pairs;
  Crew crew(info_.threads, workspace_.span(), progress_,
            pairs * static_cast<double>(run.problem->kv_heads));
  if (!run_prefill(run, needed, prefill_items_, target_, crew))
    throw Cancelled("attention: cancelled by the progress callback");
}

}  // namespace heed::kernels
