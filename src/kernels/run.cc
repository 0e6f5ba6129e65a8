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

void require_queries(ConstTensorView q, const AttentionOptions& options) {
  require_dtype("query", q.dtype, kFloats);
  require(options.score_mod.f32 != nullptr || options.score_mod.f64 == nullptr,
          "attention: score_mod has an f64 form but no f32 form, which the kernels call");
}

void require_ends(const Problem& problem, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  TensorView out, RowView lse, const AttentionOptions& options) {
  require_output(problem, q, out);
  require(out.dtype == q.dtype, "attention: query has dtype ", name_of(q.dtype), " but out has ",
          name_of(out.dtype));
  require_data("query", q);
  require_data("out", out);
  require_apart(q, k, v, out, lse, options);
}

Runner::Runner(const Run& run, std::size_t queries, std::size_t keys, const Execution& execution)
    : target_(chosen_target()), progress_(execution.progress) {
  const Problem& problem = *run.problem;
  info_.flops =
      visible_pairs(problem) * 2 * static_cast<double>(problem.key_dim + problem.value_dim);
  const auto worthwhile = static_cast<std::size_t>(std::max(1.0, info_.flops / kFlopsPerThread));
  info_.threads = std::min(thread_count(execution.threads), worthwhile);
  const std::size_t tokens = problem.ragged ? queries : queries * problem.sequences.size();
  extent_ = {queries, keys, tokens, info_.threads};
  prefill_ = prefill_shape(problem, extent_, target_);
  decode_ = decode_shape(problem, run.kv, queries, keys, target_);
  for (auto* sequences : {&prefill_sequences_, &decode_sequences_})
    sequences->reserve(problem.sequences.size());
  prefill_items_.reserve(tokens / prefill_.block_queries + problem.sequences.size());
  decode_items_.reserve(problem.sequences.size());
  choose_tasks(problem);
  info_.target = name_of(target_);
  info_.bytes = bytes_moved(run);
  plan_tasks(problem);
  workspace_ = AlignedBuffer<std::byte>(workspace_bytes(problem));
  info_.workspace_bytes = workspace_.size();
}

void Runner::choose_tasks(const Problem& problem) {
  prefill_sequences_.clear();
  decode_sequences_.clear();
  for (std::size_t n = 0; n < problem.sequences.size(); ++n)
    (decodes(problem.sequences[n]) ? decode_sequences_ : prefill_sequences_)
        .push_back(static_cast<std::uint32_t>(n));
  prefill_items(problem, prefill_, prefill_sequences_, prefill_items_);
  decode_items(problem, decode_sequences_, decode_items_);
}

// Threads, tasks and tiles; the tiles of prefill where both kernels run.
void Runner::plan_tasks(const Problem& problem) {
  const std::size_t prefills = prefill_items_.size() * problem.kv_heads;
  const std::size_t heads = decode_items_.size() * problem.kv_heads;
  std::size_t splits = 0;
  for (const DecodeItem& item : decode_items_) {
    splits += item.splits * problem.kv_heads;
    info_.key_splits = std::max<std::size_t>(info_.key_splits, item.splits);
  }
  info_.threads = std::clamp<std::size_t>(prefills + splits, 1, info_.threads);
  info_.tasks = prefills + (decode_splits(heads, info_.threads) ? splits : heads);
  if (prefills != 0 || heads == 0) {
    info_.kernel = heads == 0 ? "prefill" : "prefill, decode";
    info_.tile_queries = prefill_.strip;
    info_.tile_keys = prefill_.tile_keys;
  } else {
    info_.kernel = "decode";
    info_.tile_queries = decode_.rows;
    info_.tile_keys = decode_tile_keys(decode_.rows);
  }
}

// One kernel runs after the other, in the same memory. The sequences of a ragged batch may be
// others in the next run, so that either kernel may get any number of them.
std::size_t Runner::workspace_bytes(const Problem& problem) const {
  const std::size_t sequences = problem.sequences.size();
  const bool prefill = problem.ragged || !prefill_sequences_.empty();
  const bool decode = problem.ragged || !decode_sequences_.empty();
  return std::max(prefill ? checked_product("attention: workspace",
                                            {info_.threads, prefill_.floats, sizeof(float)})
                          : 0,
                  decode ? decode_workspace(problem, decode_, problem.ragged ? 1 : sequences,
                                            sequences, info_.threads)
                         : 0);
}

void Runner::run(const Run& run) {
  const PrefillShape prefill = prefill_shape(*run.problem, extent_, target_);
  const DecodeShape decode =
      decode_shape(*run.problem, run.kv, extent_.queries, extent_.keys, target_);
  const std::size_t needed = std::max(prefill.floats, decode.floats),
                    planned = std::max(prefill_.floats, decode_.floats);
  require(prefill.floats <= prefill_.floats && decode.floats <= decode_.floats &&
              prefill.group == prefill_.group,
          "attention: the run needs ", needed * sizeof(float),
          " bytes of workspace per thread but was planned with ", planned * sizeof(float));
  choose_tasks(*run.problem);
  double pairs = 0;
  for (const PrefillItem& item : prefill_items_) pairs += item.pairs;
  for (const DecodeItem& item : decode_items_) pairs += item.pairs;
  Crew crew(info_.threads, workspace_.span(), progress_,
            pairs * static_cast<double>(run.problem->kv_heads));
  if (!run_prefill(run, prefill, prefill_items_, target_, crew) ||
      !run_decode(run, decode, decode_items_, target_, crew))
    throw Cancelled("attention: cancelled by the progress callback");
}

}  // namespace heed::kernels
