#include "cache/attend.h"

#include <algorithm>

#include "base/checks.h"
#include "kernels/run.h"

namespace heed {
namespace cache {

kernels::RowStore row_store(ConstTensorView rows, ScaleView scales) {
  kernels::RowStore store = kernels::row_store(rows);
  store.scales = scales.data;
  store.scale_batch_stride = scales.batch_stride;
  store.scale_head_stride = scales.head_stride;
  store.scale_token_stride = scales.token_stride;
  return store;
}

ConstTensorView shape_only(std::size_t batch, std::size_t heads, std::size_t tokens,
                           std::size_t dim) {
  ConstTensorView view;
  view.batch = batch;
  view.heads = heads;
  view.tokens = tokens;
  view.dim = dim;
  return view;
}

namespace {

kernels::Runner runner_of(const kernels::Run& run, const Execution& execution) {
  const Problem& problem = *run.problem;
  return {run, problem.ragged ? run.q.tokens : problem.most_queries, problem.most_keys, execution};
}

}  // namespace

void run(const Problem& problem, ConstTensorView q, const kernels::KeyValues& kv, TensorView out,
         RowView lse, const AttentionOptions& options, const Execution& execution) {
  const kernels::Run operands = {&problem, &options, q, kv, out, lse};
  runner_of(operands, execution).run(operands);
}

PlanInfo plan(const Problem& problem, ConstTensorView q, const kernels::KeyValues& kv,
              const AttentionOptions& options, const Execution& execution) {
  return runner_of({&problem, &options, q, kv, {}, {}}, execution).info();
}

PagedSequences::PagedSequences(const PagedKVCache& cache, std::span<const SequenceId> sequences) {
  for (const SequenceId id : sequences) {
    const std::size_t length = cache.length(id);
    lengths.push_back(static_cast<std::int64_t>(length));
    longest = std::max(longest, length);
    table_stride = std::max(table_stride, cache.block_table(id).size());
  }
  table.resize(checked_product("attention: block table", {sequences.size(), table_stride}));
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    const auto pages = cache.block_table(sequences[n]);
    std::copy(pages.begin(), pages.end(), table.data() + n * table_stride);
  }
}

kernels::KeyValues PagedSequences::rows(const PagedKVCache& cache, std::size_t pages) const {
  kernels::KeyValues kv = {row_store(cache.key_pages(), cache.key_scales()),
                           row_store(cache.value_pages(), cache.value_scales())};
  for (kernels::RowStore* store : {&kv.k, &kv.v}) {
    store->block_table = table.data() + pages;
    store->table_stride = table_stride;
    store->page_tokens = cache.page_size();
  }
  return kv;
}

namespace {

// What the caller says of the keys must fit what the cache has.
void require_key_options(const PagedSequences& sequences, const AttentionOptions& options) {
  const std::size_t count = sequences.lengths.size();
  require(options.cu_seqlens_k.empty(), "attention: cu_seqlens_k has ", options.cu_seqlens_k.size(),
          " values but the cache knows the lengths of its ", count, " sequences");
  require(options.cu_seqlens_q.empty() || options.cu_seqlens_q.size() == count + 1,
          "attention: cu_seqlens_q has ", options.cu_seqlens_q.size(), " values but there are ",
          count, " sequences");
  const auto lengths = options.key_lengths;
  require(lengths.empty() || lengths.size() == count, "attention: key_lengths has ", lengths.size(),
          " values but there are ", count, " sequences");
  for (std::size_t n = 0; n < lengths.size(); ++n)
    require(lengths[n] <= sequences.lengths[n], "attention: key_lengths[", n, "] is ", lengths[n],
            " but that sequence has ", sequences.lengths[n], " keys");
}

}  // namespace

PagedProblem::PagedProblem(ConstTensorView q, const PagedKVCache& cache,
                           std::span<const SequenceId> ids, const AttentionOptions& given)
    : sequences(cache, ids), options(given) {
  kernels::require_queries(q, options);
  require_key_options(sequences, options);
  std::size_t batch = ids.size(), tokens = sequences.longest;
  if (!options.cu_seqlens_q.empty()) {
    begins_ = {0};
    for (const std::int64_t length : sequences.lengths) begins_.push_back(begins_.back() + length);
    options.cu_seqlens_k = begins_;
    batch = 1;
    tokens = static_cast<std::size_t>(begins_.back());
  } else if (options.key_lengths.empty()) {
    options.key_lengths = sequences.lengths;
  }
  problem = describe(q, shape_only(batch, cache.kv_heads(), tokens, cache.key_dim()),
                     shape_only(batch, cache.kv_heads(), tokens, cache.value_dim()), options);
}

namespace {

// Attention over a contiguous cache, checked.
Problem described(ConstTensorView q, const KVCache& cache, const AttentionOptions& options) {
  require(
      options.cu_seqlens_q.empty() && options.cu_seqlens_k.empty(), "attention: cu_seqlens has ",
      std::max(options.cu_seqlens_q.size(), options.cu_seqlens_k.size()), " values but the ",
      cache.batch(), " sequences of a KVCache have one length; PagedKVCache takes ragged queries");
  kernels::require_queries(q, options);
  const std::size_t batch = cache.batch(), heads = cache.kv_heads(), length = cache.length();
  return describe(q, shape_only(batch, heads, length, cache.key_dim()),
                  shape_only(batch, heads, length, cache.value_dim()), options);
}

kernels::KeyValues rows_of(const KVCache& cache) {
  return {row_store(cache.keys(), cache.key_scales()),
          row_store(cache.values(), cache.value_scales())};
}

}  // namespace
}  // namespace cache

void attention(ConstTensorView q, const KVCache& cache, TensorView out, RowView lse,
               const AttentionOptions& options, const Execution& execution) {
  const Problem problem = cache::described(q, cache, options);
  kernels::require_ends(problem, q, cache.keys(), cache.values(), out, lse, options);
  cache::run(problem, q, cache::rows_of(cache), out, lse, options, execution);
}

void attention(ConstTensorView q, const KVCache& cache, TensorView out,
               const AttentionOptions& options, const Execution& execution) {
  attention(q, cache, out, RowView{}, options, execution);
}

void attention(ConstTensorView q, const PagedKVCache& cache, std::span<const SequenceId> sequences,
               TensorView out, RowView lse, const AttentionOptions& options,
               const Execution& execution) {
  const cache::PagedProblem paged(q, cache, sequences, options);
  kernels::require_ends(paged.problem, q, cache.key_pages(), cache.value_pages(), out, lse,
                        options);
  cache::run(paged.problem, q, paged.sequences.rows(cache), out, lse, paged.options, execution);
}

void attention(ConstTensorView q, const PagedKVCache& cache, std::span<const SequenceId> sequences,
               TensorView out, const AttentionOptions& options, const Execution& execution) {
  attention(q, cache, sequences, out, RowView{}, options, execution);
}

PlanInfo plan_info(ConstTensorView q, const KVCache& cache, const AttentionOptions& options,
                   const Execution& execution) {
  return cache::plan(cache::described(q, cache, options), q, cache::rows_of(cache), options,
                     execution);
}

PlanInfo plan_info(ConstTensorView q, const PagedKVCache& cache,
                   std::span<const SequenceId> sequences, const AttentionOptions& options,
                   const Execution& execution) {
  const cache::PagedProblem paged(q, cache, sequences, options);
  return cache::plan(paged.problem, q, paged.sequences.rows(cache), paged.options, execution);
}

}  // namespace heed
