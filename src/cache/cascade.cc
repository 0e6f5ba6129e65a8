// Shared-prefix batches: the pages that all sequences hold are attended once for all of them, the
// rest once for each, and the two states are merged.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/checks.h"
#include "base/element.h"
#include "cache/attend.h"
#include "heed/state.h"
#include "kernels/run.h"

namespace heed {
namespace cache {
namespace {

// Outputs in f32 and logsumexps of part of the keys, contiguous: whatever the dtype of the output,
// nothing is rounded to it before the merge.
struct Part {
  AlignedBuffer<float> o, lse;
  TensorView out;
  RowView rows;

  Part(std::size_t batch, std::size_t heads, std::size_t queries, std::size_t dim)
      : o(checked_product("cascade_attention: workspace", {batch, heads, queries, dim})),
        lse(batch * heads * queries),
        out(bhnd(o.data(), batch, heads, queries, dim)),
        rows(heed::rows(lse.data(), heads, queries)) {}
};

// One of several runs as part of the caller's progress.
struct Share {
  Progress whole;
  double begin = 0, part = 1;

  static bool call(double done, void* self) {
    const auto& share = *static_cast<const Share*>(self);
    return share.whole.call(share.begin + done * share.part, share.whole.user);
  }
  Execution of(Execution execution) {
    if (whole.call != nullptr) execution.progress = {&Share::call, this};
    return execution;
  }
};

// The caller's score_mod for keys counted from `first` on.
struct ShiftedMod {
  ScoreMod mod;
  std::size_t first = 0;

  void operator()(ScoreTile<float> tile) const {
    tile.key += first;
    mod.f32(tile, mod.user);
  }
};

// What depends on the position of a query, for scores whose rows are the sequences: ALiBi, the
// caller's score_mod, and the windows. Query number `query` of each.
struct PositionMod {
  const Problem* problem = nullptr;
  const AttentionOptions* options = nullptr;
  std::size_t query = 0;

  void operator()(const ScoreTile<float>& tile) const {
    for (std::size_t r = 0; r < tile.rows; ++r) {
      const std::size_t n = tile.query + r;
      const Sequence& sequence = problem->sequences[n];
      float* s = tile.s + r * tile.stride;
      if (!options->alibi_slopes.empty())
        for (std::size_t c = 0; c < tile.cols; ++c)
          s[c] -= options->alibi_slopes[tile.head] *
                  static_cast<float>(distance(sequence, query, tile.key + c));
      if (options->score_mod)
        options->score_mod.f32({s, 1, tile.cols, tile.stride, n, tile.head, query, tile.key},
                               options->score_mod.user);
      const std::size_t begin = problem->visible_keys(sequence, query).begin;
      if (begin > tile.key)
        std::fill_n(s, std::min(begin - tile.key, tile.cols),
                    -std::numeric_limits<float>::infinity());
    }
  }
};

template <class View>
void move_by(View& view, std::size_t steps, std::ptrdiff_t stride) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(view.data)>>,
                                  const std::byte, std::byte>;
  view.data = static_cast<Byte*>(view.data) +
              static_cast<std::ptrdiff_t>(steps * size_of(view.dtype)) * stride;
}

class Cascade {
 public:
  Cascade(ConstTensorView q, const PagedKVCache& cache, const PagedProblem& whole,
          std::size_t prefix)
      : q_(q), cache_(cache), whole_(whole), problem_(whole.problem), prefix_(prefix) {}

  void run(TensorView out, RowView lse, const Execution& execution) {
    Part shared(q_.batch, q_.heads, q_.tokens, problem_.value_dim);
    Part own(q_.batch, q_.heads, q_.tokens, problem_.value_dim);
    const double part = 1.0 / static_cast<double>(q_.tokens + 1);
    for (std::size_t i = 0; i < q_.tokens; ++i) {
      Share share = {execution.progress, static_cast<double>(i) * part, part};
      run_prefix(i, shared, share.of(execution));
    }
    Share share = {execution.progress, 1 - part, part};
    run_rest(own, share.of(execution));
    merge_states(shared.out, shared.rows, own.out, own.rows, own.out, own.rows);
    store(own, out, lse);
  }

 private:
  // Query i of every sequence over the shared keys, as one sequence whose queries are those.
  void run_prefix(std::size_t i, Part& part, const Execution& execution) const {
    const auto turned = [&](auto view) {
      move_by(view, i, view.token_stride);
      view.tokens = view.batch;
      view.token_stride = view.batch_stride;
      view.batch = 1;
      return view;
    };
    const ConstTensorView q = turned(q_);
    const TensorView out = turned(part.out);
    const RowView lse = {part.rows.data + i, 0, part.rows.head_stride, part.rows.batch_stride};

    AttentionOptions options;
    options.scale = whole_.options.scale;
    options.softcap = whole_.options.softcap;
    options.mask = turned_scores(problem_.mask, i);
    options.bias = turned_scores(problem_.bias, i);
    const PositionMod mod = {&problem_, &whole_.options, i};
    if (depends_on_position(i)) options.score_mod = score_mod(mod);
    const Problem problem = described(q, 1, prefix_, options);
    cache::run(problem, q, whole_.sequences.rows(cache_), out, lse, options, execution);
  }

  // All queries over the keys that are not shared.
  void run_rest(Part& part, const Execution& execution) const {
    AttentionOptions options = whole_.options;
    std::vector<std::int64_t> offsets, lengths;
    const auto prefix = static_cast<std::int64_t>(prefix_);
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    for (const Sequence& sequence : problem_.sequences) {
      offsets.push_back(std::max(sequence.offset, kLeast + prefix) - prefix);
      lengths.push_back(static_cast<std::int64_t>(sequence.key_length - prefix_));
    }
    options.query_offset = {};
    options.query_offsets = offsets;
    options.key_lengths = lengths;
    options.mask = without_prefix(problem_.mask);
    options.bias = without_prefix(problem_.bias);
    const ShiftedMod mod = {whole_.options.score_mod, prefix_};
    if (mod.mod) options.score_mod = score_mod(mod);
    const Problem problem = described(q_, q_.batch, problem_.most_keys - prefix_, options);
    cache::run(problem, q_, whole_.sequences.rows(cache_, prefix_ / cache_.page_size()), part.out,
               part.rows, options, execution);
  }

  Problem described(ConstTensorView q, std::size_t batch, std::size_t keys,
                    const AttentionOptions& options) const {
    return describe(q, shape_only(batch, cache_.kv_heads(), keys, cache_.key_dim()),
                    shape_only(batch, cache_.kv_heads(), keys, cache_.value_dim()), options);
  }

  // Whether scores of the shared keys depend on where query i of a sequence stands.
  bool depends_on_position(std::size_t i) const {
    return !whole_.options.alibi_slopes.empty() || whole_.options.score_mod ||
           std::any_of(problem_.sequences.begin(), problem_.sequences.end(),
                       [&](const Sequence& s) { return problem_.visible_keys(s, i).begin > 0; });
  }

  // A mask or bias of query i of every sequence, [1, heads, sequences, prefix].
  ScoreView turned_scores(ScoreView view, std::size_t i) const {
    if (!view) return view;
    move_by(view, i, view.strides[2]);
    view.sizes = {1, view.sizes[1], view.sizes[0], std::min(view.sizes[3], prefix_)};
    view.strides = {0, view.strides[1], view.strides[0], view.strides[3]};
    return view;
  }

  ScoreView without_prefix(ScoreView view) const {
    if (!view || view.sizes[3] == 1) return view;
    move_by(view, prefix_, view.strides[3]);
    view.sizes[3] -= prefix_;
    return view;
  }

  static void store(const Part& part, TensorView out, RowView lse) {
    const auto store_as = [&](auto element) {
      using T = decltype(element);
      const float *o = part.o.data(), *from = part.lse.data();
      for (std::size_t b = 0; b < out.batch; ++b)
        for (std::size_t h = 0; h < out.heads; ++h)
          for (std::size_t i = 0; i < out.tokens; ++i, o += out.dim, ++from) {
            const auto at = [&](const auto& view) {
              return static_cast<std::ptrdiff_t>(b) * view.batch_stride +
                     static_cast<std::ptrdiff_t>(h) * view.head_stride +
                     static_cast<std::ptrdiff_t>(i) * view.token_stride;
            };
            T* to = static_cast<T*>(out.data) + at(out);
            for (std::size_t c = 0; c < out.dim; ++c) assign(to[c], o[c]);
            if (lse) lse.data[at(lse)] = *from;
          }
    };
    switch (out.dtype) {
      case DType::f16: return store_as(f16());
      case DType::bf16: return store_as(bf16());
      default: return store_as(float());
    }
  }

  ConstTensorView q_;
  const PagedKVCache& cache_;
  const PagedProblem& whole_;
  const Problem& problem_;
  const std::size_t prefix_;  // tokens, whole pages
};

// The leading tokens that are stored once and lie before the end of every query's view: whole
// pages.
std::size_t prefix_of(const PagedKVCache& cache, std::span<const SequenceId> sequences,
                      const Problem& problem) {
  std::size_t tokens = cache.shared_prefix(sequences);
  for (const Sequence& sequence : problem.sequences)
    if (sequence.queries != 0) tokens = std::min(tokens, problem.visible_keys(sequence, 0).end);
  return tokens / cache.page_size() * cache.page_size();
}

}  // namespace
}  // namespace cache

void cascade_attention(ConstTensorView q, const PagedKVCache& cache,
                       std::span<const SequenceId> sequences, TensorView out, RowView lse,
                       const AttentionOptions& options, const Execution& execution) {
  require(options.cu_seqlens_q.empty(), "cascade_attention: cu_seqlens_q has ",
          options.cu_seqlens_q.size(), " values but only attention() takes ragged queries");
  const cache::PagedProblem whole(q, cache, sequences, options);
  kernels::require_ends(whole.problem, q, cache.key_pages(), cache.value_pages(), out, lse,
                        options);
  const std::size_t prefix = cache::prefix_of(cache, sequences, whole.problem);
  if (prefix == 0 || sequences.size() < 2)
    return cache::run(whole.problem, q, whole.sequences.rows(cache), out, lse, whole.options,
                      execution);
  cache::Cascade(q, cache, whole, prefix).run(out, lse, execution);
}

void cascade_attention(ConstTensorView q, const PagedKVCache& cache,
                       std::span<const SequenceId> sequences, TensorView out,
                       const AttentionOptions& options, const Execution& execution) {
  cascade_attention(q, cache, sequences, out, RowView{}, options, execution);
}

}  // namespace heed
