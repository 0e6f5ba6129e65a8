#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>

#include "base/buffer.h"
#include "base/checks.h"
#include "base/overlap.h"
#include "base/threads.h"
#include "heed/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/selfish.cc"
#include "kernels/decode-inl.h"
#include "kernels/foreach_target.h"  // must come before the per-target code
#include "kernels/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// One batch row: keys [tokens, dim], query and out [dim]. Block by block, so that a key is still in
// the first-level cache when it serves as value. workspace: two rows rounded up to kPair.
void SelfishRow(const float* keys, const float* query, float* out, std::size_t tokens,
                std::size_t dim, float* workspace) {
  const D d;
  const std::size_t stride = (dim + kPair - 1) / kPair * kPair;
  float *q = workspace, *o = workspace + stride;
  std::fill_n(workspace, 2 * stride, 0.0f);
  for (std::size_t c = 0; c < dim; ++c) q[c] = query[c] * static_cast<float>(kernels::kLog2E);

  // 12 KB of keys stay in the first-level cache; of shorter blocks more time goes into their ends.
  constexpr std::size_t kBlockBytes = 12288, kLeast = 4, kMost = 48;
  constexpr std::size_t kCols = (kMost + kLanes - 1) / kLanes * kLanes;
  const std::size_t row_bytes = dim * sizeof(float);
  const std::size_t block = std::clamp(kBlockBytes / row_bytes, kLeast, kMost);
  float s[kCols], m = -kInf, l = 0;
  Rows rows{reinterpret_cast<const std::byte*>(keys), static_cast<std::ptrdiff_t>(row_bytes)};
  for (std::size_t j = 0; j < tokens; j += block, rows = rows.from(block)) {
    const std::size_t count = std::min(block, tokens - j);
    ScoreBlock<float, 1>(q, stride, rows, count, dim, s, kCols, 0);
    std::fill(s + count, s + kCols, -kInf);
    const float factor = SoftmaxStep(s, kCols, m, l);
    if (factor != 1.0f)
      for (std::size_t c = 0; c < stride; c += kLanes)
        hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, o + c)), d, o + c);
    // The hardware follows keys that are read in order, but while values are mixed it stops: the
    // first keys of the next block are asked for. Asking for all of them costs more than it gives.
    PrefetchRows(rows.Ahead(static_cast<std::ptrdiff_t>(count * row_bytes)),
                 kAheadBytes / row_bytes, row_bytes);
    MixBlock<float, 1>({.p = s,
                        .p_stride = kCols,
                        .v = rows,
                        .keys = count,
                        .dim = dim,
                        .o = o,
                        .o_stride = stride},
                       0);
  }
  // Without keys 0; with keys that all score -infinity 0 / 0.
  const V scale = hn::Set(d, tokens == 0 ? 0.0f : 1.0f / l);
  ForVectors(dim, [&](std::size_t c, std::size_t count) {
    const V v = hn::Mul(hn::LoadU(d, o + c), scale);
    if (count == kLanes)
      StoreAs(v, out + c);
    else
      StoreSome(v, out + c, count);
  });
}

std::size_t SelfishWorkspace(std::size_t dim) {
  return 2 * ((dim + kPair - 1) / kPair * kPair);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
namespace {

HWY_EXPORT(SelfishRow);
HWY_EXPORT(SelfishWorkspace);

// As for attention: work for less than about this many flops is not shared.
constexpr double kFlopsPerThread = 4e6;

void require_sizes(const float* keys, const float* query, const float* out, std::size_t batch,
                   std::size_t tokens, std::size_t dim) {
  require(dim > 0, "selfish_attention: keys have dimension 0, expected at least 1");
  const std::size_t key_bytes =
      checked_product("selfish_attention: keys", {batch, tokens, dim, sizeof(float)});
  const std::size_t bytes =
      checked_product("selfish_attention: query", {batch, dim, sizeof(float)});
  for (const auto& [name, data, size] :
       {std::tuple{"keys", keys, key_bytes}, {"query", query, bytes}, {"out", out, bytes}})
    require(data != nullptr || size == 0, "selfish_attention: ", name, " has ", size,
            " bytes but no data");
  require_apart("selfish_attention", {{"out", region(bhnd(out, batch, 1, 1, dim))}},
                {{"keys", region(bhnd(keys, batch, 1, tokens, dim))},
                 {"query", region(bhnd(query, batch, 1, 1, dim))}});
}

}  // namespace

void selfish_attention(const float* keys, const float* query, float* out, std::size_t batch,
                       std::size_t tokens, std::size_t dim, const Execution& execution) {
  require_sizes(keys, query, out, batch, tokens, dim);
  if (batch == 0) return;
  const kernels::Target target = kernels::chosen_target();
  const auto row = HEED_FUNCTION(SelfishRow, target);
  const double work = static_cast<double>(batch);
  const double flops = 4 * work * static_cast<double>(tokens) * static_cast<double>(dim);
  const auto worthwhile = static_cast<std::size_t>(std::max(1.0, flops / kFlopsPerThread));
  const std::size_t threads = std::min({thread_count(execution.threads), worthwhile, batch});
  const std::size_t floats = HEED_FUNCTION(SelfishWorkspace, target)(dim);
  AlignedBuffer<float> workspace(
      checked_product("selfish_attention: workspace", {threads, floats}));
  kernels::Crew crew(threads, {}, execution.progress, work);
  const bool all = parallel_for(batch, threads, [&](std::size_t b, std::size_t worker) {
    row(keys + b * tokens * dim, query + b * dim, out + b * dim, tokens, dim,
        workspace.data() + worker * floats);
    crew.did(1);
    return !crew.cancelled();
  });
  if (!all) throw Cancelled("selfish_attention: cancelled by the progress callback");
}

}  // namespace heed
#endif  // HWY_ONCE
