// The decode kernel: all rows of one key/value head against one split of its keys. See decode.h.
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/decode-inl.h"
#include "kernels/decode_task.h"
#include "kernels/pack-inl.h"
#include "kernels/row-inl.h"

#if defined(HEED_KERNELS_DECODE_SPLIT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_DECODE_SPLIT_INL_H
#undef HEED_KERNELS_DECODE_SPLIT_INL_H
#else
#define HEED_KERNELS_DECODE_SPLIT_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// T is what keys and values are stored as. Multiplies floats; ByteSplit (decode_int8_split-inl.h)
// replaces what depends on that.
template <class T>
class Split {
 public:
  explicit Split(const kernels::DecodeTask& task)
      : task_(task),
        run_(*task.run),
        problem_(*task.run->problem),
        rules_(*task.rules),
        shape_(*task.shape),
        sequence_(problem_.sequences[task.sequence]),
        rows_(shape_.group * sequence_.queries),
        tile_keys_(kernels::decode_tile_keys(rows_)),
        stride_(kernels::decode_score_stride(tile_keys_)),
        keys_(run_.kv.k.of(sequence_, task.sequence, task.kv_head)),
        values_(run_.kv.v.of(sequence_, task.sequence, task.kv_head)) {}

  // The state of all rows over the keys of the split.
  void Run() {
    if (!task_.packed) PackQueries();
    std::fill_n(task_.state.o, shape_.rows * shape_.o_stride, 0.0f);
    std::fill_n(task_.state.m, shape_.rows, -kInf);
    std::fill_n(task_.state.l, shape_.rows, 0.0f);
    for (std::size_t key = task_.keys.begin; key < task_.keys.end; key += tile_keys_)
      AddTile({key, std::min(key + tile_keys_, task_.keys.end)});
  }

  // Ends the rows, whose state is that of all keys now.
  void Finish() {
    if (rules_.mod && !task_.packed) PackQueries();
    float* o = Space(shape_.scratch);
    for (std::size_t r = 0; r < rows_; ++r) {
      const float* q = Space(shape_.q) + r * shape_.q_stride;
      const auto raw_score = [&](std::size_t j) {
        float dot = 0;
        for (std::size_t c = 0; c < problem_.key_dim; ++c)
          dot += q[InPairOrder<T>(c, problem_.key_dim)] *
                 (LoadOne(keys_.row<T>(j) + c) * keys_.scale(j));
        return dot;
      };
      InOrder(task_.state.o + r * shape_.o_stride, o);
      QueryRow(r).Finish(task_.state.m[r], task_.state.l[r], o, raw_score);
    }
  }

 protected:
  float* Space(std::size_t offset) const { return task_.workspace + offset; }

  // Row r is query r % n_q of the group's head r / n_q.
  Row QueryRow(std::size_t r) const {
    return Row(run_, rules_, task_.sequence, Head(r), r % sequence_.queries);
  }
  std::size_t Head(std::size_t r) const {
    return task_.kv_head * shape_.group + r / sequence_.queries;
  }

  template <class Q>
  void PackQueriesAs() {
    for (std::size_t r = 0; r < shape_.rows; ++r) {
      float* to = Space(shape_.q) + r * shape_.q_stride;
      std::fill_n(to, shape_.q_stride, 0.0f);
      if (r >= rows_) continue;
      const Q* q = QueryRow(r).template Query<Q>();
      ForPairOrder<T>(problem_.key_dim, [&](std::size_t c, std::size_t place) HEED_INLINED {
        to[place] = LoadOne(q + c) * rules_.query_scale;
      });
    }
  }

  virtual void PackQueries() {
    switch (run_.q.dtype) {
      case DType::f16: return PackQueriesAs<f16>();
      case DType::bf16: return PackQueriesAs<bf16>();
      default: return PackQueriesAs<float>();
    }
  }

  // The runs that values are read in. Of 16 bits and fewer, arithmetic is nearly all of the time,
  // and neighbours are cheaper to add.
  static constexpr std::size_t kMixRuns = std::is_same_v<T, float> ? 4 : 1;

  // Calls f(kRows, r) for strips of rows [r, r + kRows). Three rows are a strip of four.
  template <class F>
  void ForStrips(F&& f) const {
    std::size_t r = 0;
    for (; r + 3 <= rows_; r += 4) f(std::integral_constant<std::size_t, 4>(), r);
    for (; r + 2 <= rows_; r += 2) f(std::integral_constant<std::size_t, 2>(), r);
    if (r < rows_) f(std::integral_constant<std::size_t, 1>(), r);
  }

  // What is read: keys or values, and how far ahead of the work they are asked for.
  struct Reading {
    const kernels::RowSource& source;
    std::size_t dim = 0, ahead_bytes = kAheadBytes;
    std::size_t row_bytes() const { return dim * sizeof(T); }
  };
  Reading Keys() const { return {keys_, problem_.key_dim}; }
  Reading Values() const { return {values_, problem_.value_dim}; }
  // Strips of columns ask for the block after the one in work.
  Reading ValuesInBlocks() const {
    Reading values = Values();
    values.ahead_bytes = BlockKeys<T>(values.dim) * values.row_bytes();
    return values;
  }

  // The rows [j, j + count) and those x * apart behind them, for every run x: as many as lie
  // equally far apart in all runs, as do the rows to ask for meanwhile.
  template <std::size_t kRuns = 1>
  Piece<kRuns> PieceAt(const Reading& what, std::size_t j, std::size_t count,
                       std::size_t apart = 0) const {
    const kernels::RowSource& source = what.source;
    Piece<kRuns> piece;
    piece.count = MostRows<kRuns>(what.dim, count);
    for (std::size_t x = 0; x < kRuns; ++x) {
      piece.runs[x] = {Address(source, j + x * apart), source.row_bytes};
      piece.count = source.run(j + x * apart, piece.count);
    }
    const std::size_t distance = RowsAhead<kRuns>(what);
    const std::size_t farther = std::max<std::size_t>(1, kFarBytes / what.row_bytes());
    for (std::size_t x = 0; x < kRuns; ++x) {
      const std::size_t far = j + x * apart + distance;
      if (source.pages == nullptr) {
        piece.asking[x] = {static_cast<std::ptrdiff_t>(distance) * source.row_bytes,
                           static_cast<std::ptrdiff_t>(farther) * source.row_bytes};
      } else if (far < task_.keys.end) {
        piece.count = source.run(far, piece.count);
        const std::ptrdiff_t ahead = Address(source, far) - piece.runs[x].data;
        piece.asking[x] = {ahead, ahead};  // what lies beyond is anywhere
      }
    }
    return piece;
  }

  const std::byte* Address(const kernels::RowSource& source, std::size_t j) const {
    return reinterpret_cast<const std::byte*>(source.row<T>(j));
  }

  // Of each run. Several strips of query rows take a piece after each other, out of the first-level
  // cache.
  template <std::size_t kRuns>
  std::size_t MostRows(std::size_t dim, std::size_t left) const {
    return rows_ <= 4 ? left : std::min(left, BlockKeys<T>(dim) / kRuns);
  }

  // In whole pages where those are short, so that pieces are whole pages too. Of several runs of
  // rows without gaps none: the hardware does better.
  template <std::size_t kRuns>
  static std::size_t RowsAhead(const Reading& what) {
    const kernels::RowSource& source = what.source;
    const std::size_t bytes = what.row_bytes();
    if (kRuns > 1 && source.pages == nullptr &&
        source.row_bytes == static_cast<std::ptrdiff_t>(bytes))
      return 0;
    const std::size_t rows = std::max<std::size_t>(1, what.ahead_bytes / kRuns / bytes);
    if (source.pages == nullptr || source.page_rows > 4 * rows) return rows;
    return (rows + source.page_rows - 1) / source.page_rows * source.page_rows;
  }

  // Calls f(piece, j, apart) for the rows [keys.begin, keys.end), in pieces of runs that lie
  // `apart` rows from each other; the first row of run x is number j + x * apart of the keys. What
  // is left over is a run of its own, f(piece, j, 0).
  template <std::size_t kRuns = 1, class F>
  void ForPieces(const Reading& what, KeyRange keys, F&& f) const {
    const std::size_t apart = keys.size() / kRuns;
    for (std::size_t j = 0; j < apart;) {
      const Piece<kRuns> piece = PieceAt<kRuns>(what, keys.begin + j, apart - j, apart);
      f(piece, j, apart);
      j += piece.count;
    }
    if constexpr (kRuns > 1)
      ForPieces(what, {keys.begin + kRuns * apart, keys.end},
                [&](const Piece<1>& piece, std::size_t j, std::size_t) {
                  f(piece, kRuns * apart + j, 0);
                });
  }

  void AddTile(KeyRange keys) {
    const bool may_hide = MayHide(keys);
    if (may_hide) Keep();
    Soften(keys, [](std::size_t, const float*) {});
    MixValues(keys);
    if (may_hide && !IsFinite()) {
      Restore();
      AddTileExactly(keys);
    }
  }

  // Whether some row might not see some key of the tile.
  bool MayHide(KeyRange keys) const {
    if (rules_.hide_keys()) return true;
    const KeyRange first = problem_.visible_keys(sequence_, 0);
    const KeyRange last = problem_.visible_keys(sequence_, sequence_.queries - 1);
    return keys.begin < last.begin || first.end < keys.end;
  }

  static std::size_t Padded(std::size_t cols) { return (cols + kLanes - 1) / kLanes * kLanes; }

  // s[r, j] <- 2^(s - m) for all rows; o and l, which m may have outgrown, are rescaled.
  // look(r, s) is called with the scores before.
  template <class Look>
  void Soften(KeyRange keys, Look&& look) {
    ScoreKeysOf(keys);
    if (rules_.change_scores()) ChangeScoresOf(keys);
    const std::size_t cols = Padded(keys.size());
    for (std::size_t r = 0; r < rows_; ++r) {
      AskForValues(keys, r);
      float* s = Space(shape_.s) + r * stride_;
      QueryRow(r).HideOutside(keys.begin, cols, s);
      std::fill(s + keys.size(), s + cols, -kInf);
      look(r, s);
      Rescale(r, SoftmaxStep(s, cols, task_.state.m[r], task_.state.l[r]));
    }
    if constexpr (std::is_same_v<T, std::int8_t>) ScaleColumns(values_, keys);
  }

  // The softmax of a row takes about as long as kAheadBytes take from memory, and reads none: the
  // values are asked for, a part with every row.
  void AskForValues(KeyRange keys, std::size_t part) const {
    const std::size_t bytes = problem_.value_dim * sizeof(T), apart = keys.size() / kMixRuns;
    const std::size_t count = std::max<std::size_t>(1, kAheadBytes / kMixRuns / bytes);
    const std::size_t j = keys.begin + part * count;
    if (part * count >= apart) return;
    for (std::size_t x = 0; x < kMixRuns; ++x)
      PrefetchRows({Address(values_, j + x * apart), values_.row_bytes},
                   values_.run(j + x * apart, std::min(count, apart - part * count)), bytes);
  }

  void Rescale(std::size_t r, float factor) {
    if (factor == 1.0f) return;
    const D d;
    const V f = hn::Set(d, factor);
    float* o = task_.state.o + r * shape_.o_stride;
    for (std::size_t c = 0; c < shape_.o_stride; c += kLanes)
      hn::StoreU(hn::Mul(f, hn::LoadU(d, o + c)), d, o + c);
  }

  // s[r, j] <- q_r . k_j
  virtual void ScoreKeysOf(KeyRange keys) {
    if constexpr (!std::is_same_v<T, float>)
      ScoreKeysIn<1>(keys);
    else if (rows_ <= 2)
      ScoreKeysIn<kKeysAtOnce<2>>(keys);
    else
      ScoreKeysIn<kKeysAtOnce<4>>(keys);
    if constexpr (std::is_same_v<T, std::int8_t>) ScaleColumns(keys_, keys);
  }
  template <std::size_t kRuns>
  void ScoreKeysIn(KeyRange keys) {
    ForPieces<kRuns>(Keys(), keys, [&](auto piece, std::size_t j, std::size_t apart) {
      ForStrips([&](auto rows, std::size_t r) {
        ScorePiece<rows>(piece, r, Space(shape_.s) + r * stride_ + j, apart);
        piece.AskNoMore();
      });
    });
  }
  template <std::size_t kRows, std::size_t kRuns>
  void ScorePiece(const Piece<kRuns>& piece, std::size_t r, float* s, std::size_t apart) {
    const float* q = Space(shape_.q) + r * shape_.q_stride;
    if constexpr (kRuns == 1)
      ScoreBlock<T, kRows>(q, shape_.q_stride, piece.runs[0], piece.count, problem_.key_dim, s,
                           stride_, piece.asking[0]);
    else
      ScoreRuns<T, kRows>(q, shape_.q_stride, piece, problem_.key_dim, s, stride_, apart);
  }

  // The scales of some rows of a source, and zeros up to the next multiple of kLanes.
  const float* ScalesOf(const kernels::RowSource& source, KeyRange keys) const {
    float* scales = Space(shape_.scales);
    std::fill(scales + keys.size(), scales + Padded(keys.size()), 0.0f);
    for (std::size_t j = 0; j < keys.size();) {
      const std::size_t count = source.run(keys.begin + j, keys.size() - j);
      source.copy_scales(keys.begin + j, count, scales + j);
      j += count;
    }
    return scales;
  }

  // s[r, j] *= the scale of row j of the source.
  void ScaleColumns(const kernels::RowSource& source, KeyRange keys) {
    const float* scales = ScalesOf(source, keys);
    for (std::size_t r = 0; r < rows_; ++r) ScaleRow(scales, keys.size(), r);
  }
  void ScaleRow(const float* scales, std::size_t cols, std::size_t r) {
    const D d;
    float* s = Space(shape_.s) + r * stride_;
    for (std::size_t j = 0; j < cols; j += kLanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, s + j), hn::LoadU(d, scales + j)), d, s + j);
  }

  void ChangeScoresOf(KeyRange keys) {
    for (std::size_t r = 0; r < rows_; r += sequence_.queries)
      ChangeScores(rules_, {.s = Space(shape_.s) + r * stride_,
                            .stride = stride_,
                            .rows = sequence_.queries,
                            .cols = keys.size(),
                            .sequence = task_.sequence,
                            .head = Head(r),
                            .query = 0,
                            .key = keys.begin,
                            .position = static_cast<double>(sequence_.offset) -
                                        static_cast<double>(keys.begin),
                            .scratch = Space(shape_.scratch)});
  }

  // o_r += sum_j s[r, j] v_j
  virtual void MixValues(KeyRange keys) {
    ForPieces<kMixRuns>(kMixRuns == 1 && rows_ > 2 ? ValuesInBlocks() : Values(), keys,
                        [&](auto piece, std::size_t j, std::size_t apart) {
                          ForStrips([&](auto rows, std::size_t r) {
                            MixPiece<rows>(piece, MixOf(r, piece, j), apart);
                            piece.AskNoMore();
                          });
                        });
  }
  template <std::size_t kRows, std::size_t kRuns>
  static void MixPiece(const Piece<kRuns>& piece, const Mix& mix, std::size_t apart) {
    if constexpr (kRuns == 1)
      MixBlock<T, kRows>(mix, piece.asking[0]);
    else
      MixRuns<T, kRows>(mix, piece, apart);
  }

  template <std::size_t kRuns>
  Mix MixOf(std::size_t r, const Piece<kRuns>& piece, std::size_t j) const {
    return {.p = Space(shape_.s) + r * stride_ + j,
            .p_stride = stride_,
            .v = piece.runs[0],
            .keys = piece.count,
            .dim = problem_.value_dim,
            .o = task_.state.o + r * shape_.o_stride,
            .o_stride = shape_.o_stride};
  }

  // One row, whatever its weights are.
  virtual void MixExactly(const Mix& mix) { MixBlock<T, 1>(mix, {}); }

  // Copies a row of o to the order of the output.
  virtual void InOrder(const float* HWY_RESTRICT o, float* HWY_RESTRICT to) const {
    ForPairOrder<T>(problem_.value_dim,
                    [&](std::size_t c, std::size_t place) HEED_INLINED { to[c] = o[place]; });
  }

  // --- Where 0 * v is not 0 -------------------------------------------------------------------
  // Hidden keys have weight 0, and 0 times a value is 0 unless that is infinite or NaN. Then, and
  // only then, some o is not finite: the tile is taken back and added key by key.

  void Keep() { std::copy_n(task_.state.o, shape_.state_floats(), Space(shape_.kept)); }
  void Restore() { std::copy_n(Space(shape_.kept), shape_.state_floats(), task_.state.o); }

  bool IsFinite() const {
    const D d;
    V sum = hn::Zero(d);  // NaN once there is something that is not finite
    for (std::size_t c = 0; c < rows_ * shape_.o_stride; c += kLanes) {
      const V o = hn::LoadU(d, task_.state.o + c);
      sum = hn::Add(sum, hn::Sub(o, o));
    }
    return SumLanes(sum) == 0.0f;
  }

  void AddTileExactly(KeyRange keys) {
    auto* hidden = reinterpret_cast<bool*>(Space(shape_.hidden));
    Soften(keys, [&](std::size_t r, const float* s) {
      const Row row = QueryRow(r);
      const KeyRange range = row.Range();
      for (std::size_t j = keys.begin; j < keys.end; ++j)
        hidden[r * tile_keys_ + j - keys.begin] =
            !range.contains(j) || row.Hides(j) || (rules_.mod && s[j - keys.begin] == -kInf);
    });
    for (std::size_t r = 0; r < rows_; ++r)
      for (std::size_t j = keys.begin; j < keys.end; ++j)
        if (!hidden[r * tile_keys_ + j - keys.begin])
          MixExactly(MixOf(r, PieceAt(Values(), j, 1), j - keys.begin));
  }

  const kernels::DecodeTask& task_;
  const kernels::Run& run_;
  const Problem& problem_;
  const kernels::ScoreRules& rules_;
  const kernels::DecodeShape& shape_;
  const Sequence& sequence_;
  const std::size_t rows_, tile_keys_, stride_;
  const kernels::RowSource keys_, values_;
};

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
