// The prefill kernel: one block of queries against all the keys it can see. See prefill.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/buffer.h"
#include "kernels/micro-inl.h"
#include "kernels/pack-inl.h"
#include "kernels/prefill_ahead-inl.h"
#include "kernels/prefill_block.h"
#include "kernels/row-inl.h"

#if defined(HEED_KERNELS_PREFILL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PREFILL_INL_H
#undef HEED_KERNELS_PREFILL_INL_H
#else
#define HEED_KERNELS_PREFILL_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// The tile of keys [begin, end) as a block sees it; begin is where a panel starts.
struct KeyTile {
  std::size_t begin = 0, end = 0;
  const float* k = nullptr;   // packed from `begin`
  Values v;                   // from `begin`
  bool complete = false;      // every row of the block sees every key
  bool finite_values = true;  // of the keys that are hidden from some row
};

// Word of the progress is given after so many rows: often enough to cancel a run or to time its
// pieces, which take a few tenths of a millisecond.
inline constexpr std::size_t kRowsTold = 96;

// l of a strip that no tile has had a key for yet, so that its o is not initialised; and of one
// whose result has been written.
inline constexpr float kUntouched = -1.0f, kFinished = -2.0f;

// One strip of R rows of one head.
struct Strip {
  std::size_t head = 0, query = 0;
  float* o = nullptr;  // [R][value_stride]
  float* m = nullptr;  // [R]
  float* l = nullptr;  // [R][kLanes], to be summed
};

class Block {
 public:
  explicit Block(const kernels::PrefillBlock& block)
      : run_(*block.run),
        problem_(*block.run->problem),
        rules_(*block.rules),
        shape_(*block.shape),
        n_(block.sequence),
        sequence_(problem_.sequences[block.sequence]),
        block_(block),
        writes_in_place_(run_.out.dtype == DType::f32 && problem_.value_dim == shape_.value_stride),
        left_(block.pairs) {}

  template <class T>
  void Run() {
    Begin();
    const KeyRange first = Visible(block_.first_query);
    const KeyRange last = Visible(block_.first_query + block_.queries - 1);
    const kernels::RowSource keys = run_.kv.k.of(sequence_, n_, block_.kv_head);
    const kernels::RowSource values = run_.kv.v.of(sequence_, n_, block_.kv_head);
    for (std::size_t begin = FirstTile(first); begin < last.end; begin = TileEnd(begin)) {
      KeyTile t;
      t.begin = begin;
      t.end = std::min(TileEnd(begin), last.end);
      PackKeys<T>(keys, t.begin, t.end, problem_.key_dim, rules_.query_scale, Space(shape_.k));
      t.k = Space(shape_.k);
      t.v = PlaceValues<T>(values, t);
      t.complete = last.begin <= t.begin && t.end <= first.end;
      t.finite_values = HiddenValuesAreFinite(t, first, last);
      LookAhead<T>(keys, values, t, last.end);
      const double pairs_per_row = PairsPerRow(t, first, last);
      std::size_t untold = 0;  // rows
      ForStrips([&](auto rows, const Strip& strip) {
        StripTile<rows>(strip, t);
        if (Visible(strip.query + rows - 1).end <= t.end) Finish(strip, rows);
        untold += rows;
        if (untold < kRowsTold) return;
        Tell(std::floor(pairs_per_row * static_cast<double>(untold)));
        untold = 0;
      });
      if (block_.crew->cancelled()) return;
    }
    ForStrips([&](auto rows, const Strip& strip) { Finish(strip, rows); });
    Tell(left_);
  }

 private:
  float* Space(std::size_t offset) const { return block_.workspace + offset; }
  KeyRange* Ranges() const { return reinterpret_cast<KeyRange*>(Space(shape_.ranges)); }
  KeyRange Visible(std::size_t i) const { return Ranges()[i - block_.first_query]; }

  // Tiles end at multiples of tile_keys; the first begins with the panel of the first key.
  static std::size_t FirstTile(KeyRange range) { return range.begin / kPanel * kPanel; }
  std::size_t TileEnd(std::size_t begin) const {
    return (begin / shape_.tile_keys + 1) * shape_.tile_keys;
  }

  // The pairs of one head in a tile, shared out among the rows of all heads. The mean of the first
  // and the last query will do, as for PrefillItem.
  double PairsPerRow(const KeyTile& t, KeyRange first, KeyRange last) const {
    const auto seen = [&](KeyRange range) {
      const std::size_t begin = std::max(range.begin, t.begin), end = std::min(range.end, t.end);
      return begin < end ? static_cast<double>(end - begin) : 0.0;
    };
    return (seen(first) + seen(last)) / 2 / static_cast<double>(shape_.group);
  }

  // Tells how much more has been done: whole numbers, so that in the end they add up to all of it.
  void Tell(double pairs) {
    left_ -= pairs;
    block_.crew->did(pairs);
  }

  void Begin() {
    for (std::size_t i = 0; i < block_.queries; ++i)
      std::construct_at(Ranges() + i, problem_.visible_keys(sequence_, block_.first_query + i));
    ForStrips([&](auto rows, const Strip& strip) {
      std::fill_n(strip.m, rows, -kInf);
      strip.l[0] = kUntouched;
    });
  }

  // During this tile: what comes after it. `end` is where the keys of the block end.
  template <class T>
  void LookAhead(const kernels::RowSource& keys, const kernels::RowSource& values, const KeyTile& t,
                 std::size_t end) {
    ahead_.Clear();
    if (t.end < end)
      TileAhead<T>(keys, values, {t.end, std::min(TileEnd(t.end), end)});
    else if (block_.next != nullptr)
      BlockAhead<T>(*block_.next);
    const std::size_t strips = block_.queries * shape_.group / kRows;
    const std::size_t panels = (t.end - t.begin + kPanel - 1) / kPanel;
    ahead_.Spread(strips * panels / (t.complete ? 1 : 2));
  }

  template <class T>
  void TileAhead(const kernels::RowSource& keys, const kernels::RowSource& values, KeyRange tile) {
    if (keys.pages != nullptr || tile.begin >= tile.end) return;
    ahead_.Add(keys.row<T>(tile.begin), tile.size(), problem_.key_dim * sizeof(T), keys.row_bytes);
    ahead_.Add(values.row<T>(tile.begin), tile.size(), problem_.value_dim * sizeof(T),
               values.row_bytes);
  }

  // The first tile of another block.
  template <class T>
  void BlockAhead(const kernels::PrefillBlock& next) {
    const Sequence& sequence = problem_.sequences[next.sequence];
    const std::size_t begin = FirstTile(problem_.visible_keys(sequence, next.first_query));
    const std::size_t last =
        problem_.visible_keys(sequence, next.first_query + next.queries - 1).end;
    TileAhead<T>(run_.kv.k.of(sequence, next.sequence, next.kv_head),
                 run_.kv.v.of(sequence, next.sequence, next.kv_head),
                 {begin, std::min(TileEnd(begin), last)});
  }

  Row QueryRow(const Strip& strip, std::size_t r) const {
    return Row(run_, rules_, n_, strip.head, strip.query + r);
  }

  // The strip of head h of the group from query i of the block on, which is row `row` of it.
  Strip StripAt(std::size_t h, std::size_t i, std::size_t row) const {
    Strip strip;
    strip.head = block_.kv_head * shape_.group + h;
    strip.query = block_.first_query + i;
    strip.o = Space(shape_.o) + row * shape_.value_stride;
    strip.m = Space(shape_.m) + row;
    strip.l = Space(shape_.l) + row * kLanes;
    return strip;
  }

  // Calls f(R, strip) for all strips of all heads of the group; R is a constant.
  template <class F>
  void ForStrips(F&& f) {
    std::size_t row = 0;
    for (std::size_t h = 0; h < shape_.group; ++h) {
      std::size_t i = 0;
      const auto take = [&](auto rows, std::size_t end) {
        for (; i + rows <= end; i += rows, row += rows) f(rows, StripAt(h, i, row));
      };
      // One or two rows take nearly the time of a strip: better 4 + 4 than 6 + 2.
      const std::size_t rest = block_.queries % kRows;
      const std::size_t whole = block_.queries - rest;
      take(std::integral_constant<std::size_t, kRows>(),
           whole != 0 && (rest == 1 || rest == 2) ? whole - kRows : whole);
      if (rest == 5 || rest == 9) take(std::integral_constant<std::size_t, 5>(), block_.queries);
      take(std::integral_constant<std::size_t, 4>(), block_.queries);
      take(std::integral_constant<std::size_t, 3>(), block_.queries);
      take(std::integral_constant<std::size_t, 2>(), block_.queries);
      take(std::integral_constant<std::size_t, 1>(), block_.queries);
    }
  }

  // The queries of a strip as floats: in place if they are floats.
  struct Queries {
    const float* data;
    std::ptrdiff_t stride;
    float at(std::size_t r, std::size_t c) const {
      return data[static_cast<std::ptrdiff_t>(r) * stride + static_cast<std::ptrdiff_t>(c)];
    }
  };

  HWY_INLINE Queries QueriesOf(const Strip& strip, std::size_t rows) const {
    if (run_.q.dtype == DType::f32)
      return {QueryRow(strip, 0).template Query<float>(), run_.q.token_stride};
    if (run_.q.dtype == DType::f16)
      ConvertQueries<f16>(strip, rows);
    else
      ConvertQueries<bf16>(strip, rows);
    return {Space(shape_.q), static_cast<std::ptrdiff_t>(shape_.query_stride)};
  }

  template <class T>
  void ConvertQueries(const Strip& strip, std::size_t rows) const {
    for (std::size_t r = 0; r < rows; ++r)
      PackQuery(QueryRow(strip, r).template Query<T>(), problem_.key_dim,
                Space(shape_.q) + r * shape_.query_stride);
  }

  // For few rows values are read in place if they are floats, one after the other, in whole cache
  // lines; for many rows packing pays, the sooner the further one key's values are from the next's.
  template <class T>
  Values PlaceValues(const kernels::RowSource& values, const KeyTile& t) {
    constexpr std::size_t kFewFloats = 40'000;  // of a block's results
    const std::size_t stride = shape_.value_stride;
    if constexpr (std::is_same_v<T, float>) {
      const float* v = values.row<float>(t.begin);
      const auto row_bytes = static_cast<std::ptrdiff_t>(stride * sizeof(float));
      if (block_.queries * shape_.group * stride < kFewFloats && values.pages == nullptr &&
          stride == problem_.value_dim && values.row_bytes == row_bytes && row_bytes % 64 == 0 &&
          reinterpret_cast<std::uintptr_t>(v) % 64 == 0)
        return {v, stride, kPanel};
    }
    PackValues<T>(values, t.begin, t.end, problem_.value_dim, Space(shape_.v));
    return {Space(shape_.v), kPanel, (t.end - t.begin) * kPanel};
  }

  // Whether p = 0 makes p v = 0 for every key of the tile that is hidden from some row.
  bool HiddenValuesAreFinite(const KeyTile& t, KeyRange first, KeyRange last) const {
    if (rules_.hide_keys()) return ValuesAreFinite(t, t.begin, t.end);
    return ValuesAreFinite(t, t.begin, std::min(t.end, last.begin)) &&
           ValuesAreFinite(t, std::max(t.begin, first.end), t.end);
  }

  bool ValuesAreFinite(const KeyTile& t, std::size_t begin, std::size_t end) const {
    const D d;
    // NaN once there is something that is not finite; several, as each has to wait for itself.
    V nothing[kPanelVectors] = {hn::Zero(d), hn::Zero(d)};
    for (std::size_t c = 0; c < shape_.value_stride; c += kPanel) {
      for (std::size_t j = begin; j < end; ++j) {
        const float* row = t.v.At(j - t.begin, c);
        HEED_UNROLL
        for (std::size_t n = 0; n < kPanelVectors; ++n) {
          const V v = hn::LoadU(d, row + n * kLanes);
          nothing[n] = hn::Add(nothing[n], hn::Sub(v, v));
        }
      }
    }
    return SumLanes(hn::Add(nothing[0], nothing[1])) == 0.0f;
  }

  template <std::size_t R>
  void StripTile(const Strip& strip, const KeyTile& t) {
    const KeyRange first = Visible(strip.query), last = Visible(strip.query + R - 1);
    const std::size_t begin = std::max(t.begin, first.begin), end = std::min(t.end, last.end);
    if (begin >= end) return;
    const std::size_t panel = (begin - t.begin) / kPanel;
    const std::size_t panels = (end - t.begin + kPanel - 1) / kPanel - panel;
    const std::size_t key = t.begin + panel * kPanel;
    const std::size_t stride = shape_.score_stride();
    float* s = Space(shape_.s);
    const Queries queries = QueriesOf(strip, R);
    const bool untouched = strip.l[0] == kUntouched;
    ahead_of_strip_.Clear();
    const std::size_t left = block_.first_query + block_.queries - (strip.query + R);
    RowsAhead(run_.q, strip, R, std::min(R, left));
    if (last.end <= t.end) RowsAhead(run_.out, strip, 0, R);
    if (!untouched) ahead_of_strip_.Add(strip.o, 1, R * shape_.value_stride * sizeof(float), 0);
    for (const ScoreView* view : {&rules_.bias, &rules_.mask})
      if (*view && view->strides[3] == 1) ScoresAhead(*view, strip, R, key, end);
    ahead_of_strip_.Spread(panels);
    ScorePanels<R>(queries.data, queries.stride, t.k + panel * kPanel * problem_.key_dim,
                   problem_.key_dim, panels, s, stride, [&] {
                     ahead_.Step();
                     ahead_of_strip_.Step();
                   });
    if (rules_.change_scores())
      ChangeScores(rules_, {.s = s,
                            .stride = stride,
                            .rows = R,
                            .cols = end - key,
                            .sequence = n_,
                            .head = strip.head,
                            .query = strip.query,
                            .key = key,
                            .position = QueryRow(strip, 0).PositionFrom(key),
                            .scratch = Space(shape_.scratch)});
    if (last.begin > key || first.end < key + panels * kPanel)
      for (std::size_t r = 0; r < R; ++r)
        HideOutside(Visible(strip.query + r), key, panels * kPanel, s + r * stride);
    if (untouched)
      for (std::size_t r = 0; r < R; ++r) hn::Store(hn::Zero(D()), D(), strip.l + r * kLanes);
    if (!t.finite_values) {
      if (untouched) std::fill_n(strip.o, R * shape_.value_stride, 0.0f);
      return ExactTile(strip, R, t, key, begin, end, s);
    }
    float factor[R];
    Soften<R>(strip, s, panels * kPanel, factor);
    const auto add = [&](auto&& store) HWY_ATTR {
      AddValues<R>(s + (begin - key), stride, t.v.From(begin - t.begin), shape_.value_stride,
                   end - begin, {untouched ? nullptr : strip.o, shape_.value_stride, factor},
                   store);
    };
    if (last.end > t.end || !writes_in_place_) {
      add([&](std::size_t c, const V(&sum)[R][kPanelVectors])
              HWY_ATTR { StoreRows<R>(sum, strip.o + c, shape_.value_stride); });
      return;
    }
    // The last tile of the strip: straight to the result.
    float scale[R];
    for (std::size_t r = 0; r < R; ++r) scale[r] = EndRow(strip, R, r);
    float* out = QueryRow(strip, 0).Result();
    add([&](std::size_t c, const V(&sum)[R][kPanelVectors])
            HWY_ATTR { StoreScaledRows<R>(sum, scale, out + c, run_.out.token_stride); });
    strip.l[0] = kFinished;
  }

  // Rows from number `begin` of a strip on: of the strip that comes next, or of the result.
  template <class View>
  void RowsAhead(const View& view, const Strip& strip, std::size_t begin, std::size_t rows) {
    const std::size_t bytes = size_of(view.dtype);
    const std::ptrdiff_t stride = view.token_stride * static_cast<std::ptrdiff_t>(bytes);
    ahead_of_strip_.Add(QueryRow(strip, begin).Address(view), rows, view.dim * bytes, stride);
  }

  // The part of a mask or bias that a strip will read. The first line of every row is asked for at
  // once: rows lie in pages of their own, which the processor then looks up side by side; one by
  // one, work would stop at each.
  HWY_NOINLINE void ScoresAhead(const ScoreView& view, const Strip& strip, std::size_t rows,
                                std::size_t key, std::size_t end) {
    const Tile tile{.sequence = n_, .head = strip.head, .query = strip.query, .key = key};
    const std::size_t bytes = size_of(view.dtype);
    if (view.strides[2] == 0) rows = 1;
    ahead_of_strip_.Add(ScoreAddress(view, tile, 0), rows, (end - key) * bytes,
                        view.strides[2] * static_cast<std::ptrdiff_t>(bytes));
    for (std::size_t r = 0; r < rows; ++r) PrefetchFar(ScoreAddress(view, tile, r));
  }

  // The softmax step of R rows.
  template <std::size_t R>
  void Soften(const Strip& strip, float* s, std::size_t cols, float* factor) {
    const D d;
    float largest[R];
    MaxOfRows<R>(s, shape_.score_stride(), cols, largest);
    // All the factors first: each waits for itself, and a row of exponentials hides none of it.
    HEED_UNROLL
    for (std::size_t r = 0; r < R; ++r) factor[r] = GrowMax(largest[r], strip.m[r]);
    for (std::size_t r = 0; r < R; ++r) {
      const V sums = ExpOf(s + r * shape_.score_stride(), cols, strip.m[r]);
      float* l = strip.l + r * kLanes;
      hn::Store(hn::MulAdd(hn::Load(d, l), hn::Set(d, factor[r]), sums), d, l);
    }
  }

  // The rest of StripTile, key by key, where 0 * v is not 0: hidden keys are passed over. Scores s
  // from `key` on; the keys [begin, end) count.
  void ExactTile(const Strip& strip, std::size_t rows, const KeyTile& t, std::size_t key,
                 std::size_t begin, std::size_t end, float* s) {
    const D d;
    const Queries queries = QueriesOf(strip, rows);
    for (std::size_t r = 0; r < rows; ++r, s += shape_.score_stride()) {
      const Row row = QueryRow(strip, r);
      const KeyRange range = row.Range();
      float* hidden = Space(shape_.scratch);  // 1 or 0 for each key
      for (std::size_t j = begin; j < end; ++j)
        hidden[j - key] = !range.contains(j) || row.Hides(j) ||
                          (rules_.mod && s[j - key] == -kInf &&
                           !row.MinusInfinityBeforeMod(j, PackedScore(queries, r, t, j)));
      const std::size_t cols = (end - key + kPanel - 1) / kPanel * kPanel;
      float scale;
      Soften<1>({.m = strip.m + r, .l = strip.l + r * kLanes}, s, cols, &scale);
      const V factor = hn::Set(d, scale);
      for (std::size_t c = 0; c < shape_.value_stride; c += kLanes) {
        float* o = strip.o + r * shape_.value_stride + c;
        V acc = hn::Mul(factor, hn::LoadU(d, o));
        for (std::size_t j = begin; j < end; ++j) {
          if (hidden[j - key] != 0.0f) continue;
          const float* v = t.v.At(j - t.begin, c);
          acc = hn::MulAdd(hn::Set(d, s[j - key]), hn::LoadU(d, v), acc);
        }
        hn::StoreU(acc, d, o);
      }
    }
  }

  // The score of row r and key j of a tile.
  float PackedScore(const Queries& q, std::size_t r, const KeyTile& t, std::size_t j) const {
    const std::size_t n = j - t.begin;
    const float* k = t.k + n / kPanel * kPanel * problem_.key_dim + n % kPanel;
    float dot = 0;
    for (std::size_t c = 0; c < problem_.key_dim; ++c) dot += q.at(r, c) * k[c * kPanel];
    return dot;
  }

  // The score of row r and key j, asked in rare cases when the tile may have gone.
  template <class T>
  float RawScoreAs(const Queries& q, std::size_t r, std::size_t j) const {
    const kernels::RowSource keys = run_.kv.k.of(sequence_, n_, block_.kv_head);
    const float scale = rules_.query_scale * keys.scale(j);
    float dot = 0;
    for (std::size_t c = 0; c < problem_.key_dim; ++c)
      dot += q.at(r, c) * (LoadOne(keys.row<T>(j) + c) * scale);
    return dot;
  }

  float RawScore(const Queries& q, std::size_t r, std::size_t j) const {
    switch (run_.kv.k.dtype) {
      case DType::f16: return RawScoreAs<f16>(q, r, j);
      case DType::bf16: return RawScoreAs<bf16>(q, r, j);
      case DType::i8: return RawScoreAs<std::int8_t>(q, r, j);
      default: return RawScoreAs<float>(q, r, j);
    }
  }

  // Writes the logsumexp of row r and returns what its o is to be multiplied with.
  HWY_INLINE float EndRow(const Strip& strip, std::size_t rows, std::size_t r) const {
    const float l = SumLanes(hn::Load(D(), strip.l + r * kLanes));
    if (plain_end_ && l > 0.0f) return 1.0f / l;
    const auto raw_score = [&](std::size_t j) { return RawScore(QueriesOf(strip, rows), r, j); };
    return QueryRow(strip, r).End(strip.m[r], l, raw_score);
  }

  void Finish(const Strip& strip, std::size_t rows) {
    if (strip.l[0] == kFinished) return;
    if (strip.l[0] == kUntouched) {
      std::fill_n(strip.l, rows * kLanes, 0.0f);
      std::fill_n(strip.o, rows * shape_.value_stride, 0.0f);
    }
    for (std::size_t r = 0; r < rows; ++r)
      QueryRow(strip, r).Store(strip.o + r * shape_.value_stride, EndRow(strip, rows, r));
    strip.l[0] = kFinished;
  }

  const kernels::Run& run_;
  const Problem& problem_;
  const kernels::ScoreRules& rules_;
  const kernels::PrefillShape& shape_;
  const std::size_t n_;
  const Sequence& sequence_;
  const kernels::PrefillBlock& block_;
  const bool writes_in_place_;  // rows of the result are whole panels of floats
  double left_;                 // of the work: pairs not told yet
  // Nothing asked of the end of a row but its division.
  const bool plain_end_ = !run_.lse && run_.options->sinks.empty();
  Ahead ahead_, ahead_of_strip_;
};

template <class T>
void RunBlock(const kernels::PrefillBlock& block) {
  Block(block).Run<T>();
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
