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

// Floats that a row of q or o takes.
HWY_INLINE std::size_t PaddedDim(std::size_t dim) {
  return (dim + kPair - 1) / kPair * kPair;
}

// One batch row: keys [tokens, dim], query and out [dim]. Four runs of keys are read side by side,
// block by block, so that a key is still in the first-level cache when it serves as value; what is
// left over is a last block. workspace: two rows rounded up to kPair.
class SelfishRow {
 public:
  SelfishRow(const float* keys, const float* query, std::size_t dim, float* workspace)
      : keys_{reinterpret_cast<const std::byte*>(keys),
              static_cast<std::ptrdiff_t>(dim * sizeof(float))},
        dim_(dim),
        stride_(PaddedDim(dim)),
        q_(workspace),
        o_(workspace + stride_) {
    std::fill_n(workspace, 2 * stride_, 0.0f);
    for (std::size_t c = 0; c < dim; ++c) q_[c] = query[c] * static_cast<float>(kernels::kLog2E);
  }

  void Add(std::size_t tokens) {
    // Short, as the hardware does not read on while a block is mixed; of shorter ones more time
    // goes into their ends.
    constexpr std::size_t kBlockBytes = 6144;
    const std::size_t most =
        std::clamp<std::size_t>(kBlockBytes / (dim_ * sizeof(float)) / kRuns, 1, kMost / kRuns);
    const std::size_t apart = tokens / kRuns;
    for (std::size_t j = 0; j < apart; j += most) {
      Piece<kRuns> piece{.runs = {}, .count = std::min(most, apart - j)};
      for (std::size_t x = 0; x < kRuns; ++x) piece.runs[x] = keys_.from(x * apart + j);
      ScoreRuns<float, 1>(q_, stride_, piece, dim_, s_, kMost, piece.count);
      Soften(kRuns * piece.count);
      MixRuns<float, 1>(MixOf(0, 0), piece, piece.count);
    }
    const std::size_t rest = tokens % kRuns;
    if (rest == 0) return;
    ScoreBlock<float, 1>(q_, stride_, keys_.from(kRuns * apart), rest, dim_, s_, kMost, {});
    Soften(rest);
    MixBlock<float, 1>(MixOf(kRuns * apart, rest), {});
  }

  // Without keys 0; with keys that all score -infinity 0 / 0.
  void Finish(bool empty, float* out) const {
    const V scale = hn::Set(D(), empty ? 0.0f : 1.0f / l_);
    ForVectors(dim_, [&](std::size_t c, std::size_t count) {
      const V v = hn::Mul(hn::LoadU(D(), o_ + c), scale);
      if (count == kLanes)
        StoreAs(v, out + c);
      else
        StoreSome(v, out + c, count);
    });
  }

 private:
  static constexpr std::size_t kRuns = 4, kMost = 64;

  // Of `count` scores.
  void Soften(std::size_t count) {
    const std::size_t cols = (count + kLanes - 1) / kLanes * kLanes;
    std::fill(s_ + count, s_ + cols, -kInf);
    const float factor = SoftmaxStep(s_, cols, m_, l_);
    if (factor == 1.0f) return;
    const D d;
    for (std::size_t c = 0; c < stride_; c += kLanes)
      hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, o_ + c)), d, o_ + c);
  }

  Mix MixOf(std::size_t j, std::size_t count) const {
    return {.p = s_,
            .p_stride = kMost,
            .v = keys_.from(j),
            .keys = count,
            .dim = dim_,
            .o = o_,
            .o_stride = stride_};
  }

  const Rows keys_;
  const std::size_t dim_, stride_;
  float *q_, *o_, s_[kMost], m_ = -kInf, l_ = 0;
};

void Selfish(const float* keys, const float* query, float* out, std::size_t tokens, std::size_t dim,
             float* workspace) {
  SelfishRow row(keys, query, dim, workspace);
  row.Add(tokens);
  row.Finish(tokens == 0, out);
}

std::size_t SelfishWorkspace(std::size_t dim) {
  return 2 * PaddedDim(dim);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
namespace {

HWY_EXPORT(Selfish);
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
  const auto row = HEED_FUNCTION(Selfish, target);
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
