// The prefill kernel: one block of queries against all the keys it can see. See prefill.h.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/buffer.h"
#include "kernels/micro-inl.h"
#include "kernels/pack-inl.h"
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
  const float* k = nullptr;  // packed from `begin`
  const float* v = nullptr;  // row of `begin`
  std::ptrdiff_t v_stride = 0;
  bool complete = false;      // every row of the block sees every key
  bool finite_values = true;  // of the keys that are hidden from some row
};

// l of a strip that no tile has had a key for yet; its o is not initialised.
inline constexpr float kUntouched = -1.0f;

// One strip of R rows of one head.
struct Strip {
  std::size_t head = 0, query = 0;
  float* q = nullptr;  // [R][query_stride]
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
        block_(block) {}

  template <class T>
  void Run() {
    ForStrips([&](auto rows, const Strip& strip) {
      PackQueriesOf(strip, rows);
      std::fill_n(strip.m, rows, -kInf);
      strip.l[0] = kUntouched;
    });
    const KeyRange first = Visible(block_.first_query);
    const KeyRange last = Visible(block_.first_query + block_.queries - 1);
    const kernels::RowSource keys = run_.kv.k.of(sequence_, n_, block_.kv_head);
    const kernels::RowSource values = run_.kv.v.of(sequence_, n_, block_.kv_head);
    for (std::size_t tile = first.begin / shape_.tile_keys * shape_.tile_keys; tile < last.end;
         tile += shape_.tile_keys) {
      KeyTile t;
      t.begin = std::max(tile, first.begin / kPanel * kPanel);
      t.end = std::min(tile + shape_.tile_keys, last.end);
      if (t.begin >= t.end) continue;  // the windows of all rows begin past the last key
      PackKeys<T>(keys, t.begin, t.end, problem_.key_dim, Space(shape_.k));
      t.k = Space(shape_.k);
      PlaceValues<T>(values, t);
      t.complete = last.begin <= t.begin && t.end <= first.end;
      t.finite_values = HiddenValuesAreFinite(t, first, last);
      ForStrips([&](auto rows, const Strip& strip) { StripTile<rows>(strip, t); });
    }
    ForStrips([&](auto rows, const Strip& strip) { Finish<T>(strip, rows); });
  }

 private:
  float* Space(std::size_t offset) const { return block_.workspace + offset; }
  KeyRange Visible(std::size_t i) const { return problem_.visible_keys(sequence_, i); }
  Row QueryRow(const Strip& strip, std::size_t r) const {
    return Row(run_, rules_, n_, strip.head, strip.query + r);
  }

  // Calls f(R, strip) for all strips of all heads of the group; R is a constant.
  template <class F>
  void ForStrips(F&& f) {
    std::size_t row = 0;
    for (std::size_t h = 0; h < shape_.group; ++h) {
      std::size_t i = 0;
      const auto take = [&](auto rows) {
        for (; i + rows <= block_.queries; i += rows, row += rows) {
          Strip strip;
          strip.head = block_.kv_head * shape_.group + h;
          strip.query = block_.first_query + i;
          strip.q = Space(shape_.q) + row * shape_.query_stride;
          strip.o = Space(shape_.o) + row * shape_.value_stride;
          strip.m = Space(shape_.m) + row;
          strip.l = Space(shape_.l) + row * kLanes;
          f(rows, strip);
        }
      };
      take(std::integral_constant<std::size_t, kRows>());
      if constexpr (kRows > 5) take(std::integral_constant<std::size_t, 5>());
      take(std::integral_constant<std::size_t, 4>());
      take(std::integral_constant<std::size_t, 3>());
      take(std::integral_constant<std::size_t, 2>());
      take(std::integral_constant<std::size_t, 1>());
    }
  }

  template <class T>
  void PackQueriesAs(const Strip& strip, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r)
      PackQuery(QueryRow(strip, r).template Query<T>(), problem_.key_dim, rules_.query_scale,
                strip.q + r * shape_.query_stride, shape_.query_stride);
  }

  void PackQueriesOf(const Strip& strip, std::size_t rows) {
    switch (run_.q.dtype) {
      case DType::f16: return PackQueriesAs<f16>(strip, rows);
      case DType::bf16: return PackQueriesAs<bf16>(strip, rows);
      default: return PackQueriesAs<float>(strip, rows);
    }
  }

  // Values are read in place where whole vectors of floats lie in whole cache lines.
  template <class T>
  void PlaceValues(const kernels::RowSource& values, KeyTile& t) {
    if constexpr (std::is_same_v<T, float>) {
      const float* v = values.row<float>(t.begin);
      const bool aligned = (reinterpret_cast<std::uintptr_t>(v) | values.row_bytes) % 64 == 0;
      if (aligned && values.pages == nullptr && shape_.value_stride == problem_.value_dim) {
        t.v = v;
        t.v_stride = values.row_bytes / static_cast<std::ptrdiff_t>(sizeof(float));
        return;
      }
    }
    PackValues<T>(values, t.begin, t.end, problem_.value_dim, Space(shape_.v), shape_.value_stride);
    t.v = Space(shape_.v);
    t.v_stride = static_cast<std::ptrdiff_t>(shape_.value_stride);
  }

  // Whether p = 0 makes p v = 0 for every key of the tile that is hidden from some row.
  bool HiddenValuesAreFinite(const KeyTile& t, KeyRange first, KeyRange last) const {
    if (rules_.hide_keys()) return ValuesAreFinite(t, t.begin, t.end);
    return ValuesAreFinite(t, t.begin, std::min(t.end, last.begin)) &&
           ValuesAreFinite(t, std::max(t.begin, first.end), t.end);
  }

  bool ValuesAreFinite(const KeyTile& t, std::size_t begin, std::size_t end) const {
    const D d;
    V largest = hn::Zero(d);  // NaN once there is something that is not finite
    for (std::size_t j = begin; j < end; ++j) {
      const float* row = t.v + static_cast<std::ptrdiff_t>(j - t.begin) * t.v_stride;
      for (std::size_t c = 0; c < shape_.value_stride; c += kLanes) {
        const V v = hn::LoadU(d, row + c);
        largest = hn::Add(largest, hn::Sub(v, v));
      }
    }
    return SumLanes(largest) == 0.0f;
  }

  template <std::size_t R>
  void StripTile(const Strip& strip, const KeyTile& t) {
    std::size_t begin = t.begin, end = t.end;
    if (!t.complete) {
      begin = std::max(begin, Visible(strip.query).begin);
      end = std::min(end, Visible(strip.query + R - 1).end);
      if (begin >= end) return;
    }
    const std::size_t panel = (begin - t.begin) / kPanel;
    const std::size_t panels = (end - t.begin + kPanel - 1) / kPanel - panel;
    const std::size_t key = t.begin + panel * kPanel;
    const std::size_t stride = shape_.score_stride();
    float* s = Space(shape_.s);

    ScorePanels<R>(strip.q, shape_.query_stride, t.k + panel * kPanel * problem_.key_dim,
                   problem_.key_dim, panels, s, stride);
    if (rules_.change_scores())
      ChangeScores(rules_,
                   {.s = s,
                    .stride = stride,
                    .rows = R,
                    .cols = end - key,
                    .sequence = n_,
                    .head = strip.head,
                    .query = strip.query,
                    .key = key,
                    .position = static_cast<double>(sequence_.offset) +
                                (static_cast<double>(strip.query) - static_cast<double>(key)),
                    .scratch = Space(shape_.scratch)});
    if (!t.complete || end % kPanel != 0)
      for (std::size_t r = 0; r < R; ++r)
        QueryRow(strip, r).HideOutside(key, panels * kPanel, s + r * stride);
    const bool first = strip.l[0] == kUntouched;
    if (first)
      for (std::size_t r = 0; r < R; ++r) hn::Store(hn::Zero(D()), D(), strip.l + r * kLanes);
    if (!t.finite_values) {
      if (first) std::fill_n(strip.o, R * shape_.value_stride, 0.0f);
      return ExactTile(strip, R, t, key, begin, end, s);
    }
    float factor[R];
    Soften<R>(strip, s, panels * kPanel, factor);
    const float* v = t.v + static_cast<std::ptrdiff_t>(begin - t.begin) * t.v_stride;
    const auto add = first ? AddValues<R, true> : AddValues<R, false>;
    add(s + (begin - key), stride, v, t.v_stride, end - begin, factor, strip.o,
        shape_.value_stride);
  }

  // The softmax step of R rows.
  template <std::size_t R>
  void Soften(const Strip& strip, float* s, std::size_t cols, float* factor) {
    const D d;
    float largest[R];
    MaxOfRows<R>(s, shape_.score_stride(), cols, largest);
    for (std::size_t r = 0; r < R; ++r) {
      factor[r] = GrowMax(largest[r], strip.m[r]);
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
    for (std::size_t r = 0; r < rows; ++r, s += shape_.score_stride()) {
      const Row row = QueryRow(strip, r);
      const KeyRange range = row.Range();
      float* hidden = Space(shape_.scratch);  // 1 or 0 for each key
      for (std::size_t j = begin; j < end; ++j)
        hidden[j - key] = !range.contains(j) || row.Hides(j) || (rules_.mod && s[j - key] == -kInf);
      const std::size_t cols = (end - key + kPanel - 1) / kPanel * kPanel;
      float scale;
      Soften<1>({.m = strip.m + r, .l = strip.l + r * kLanes}, s, cols, &scale);
      const V factor = hn::Set(d, scale);
      for (std::size_t c = 0; c < shape_.value_stride; c += kLanes) {
        float* o = strip.o + r * shape_.value_stride + c;
        V acc = hn::Mul(factor, hn::LoadU(d, o));
        for (std::size_t j = begin; j < end; ++j) {
          if (hidden[j - key] != 0.0f) continue;
          const float* v = t.v + static_cast<std::ptrdiff_t>(j - t.begin) * t.v_stride + c;
          acc = hn::MulAdd(hn::Set(d, s[j - key]), hn::LoadU(d, v), acc);
        }
        hn::StoreU(acc, d, o);
      }
    }
  }

  template <class T>
  void Finish(const Strip& strip, std::size_t rows) {
    const kernels::RowSource keys = run_.kv.k.of(sequence_, n_, block_.kv_head);
    if (strip.l[0] == kUntouched) {
      std::fill_n(strip.l, rows * kLanes, 0.0f);
      std::fill_n(strip.o, rows * shape_.value_stride, 0.0f);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const auto raw_score = [&](std::size_t j) {
        float dot = 0;
        for (std::size_t c = 0; c < problem_.key_dim; ++c)
          dot +=
              strip.q[r * shape_.query_stride + c] * (LoadOne(keys.row<T>(j) + c) * keys.scale(j));
        return dot;
      };
      QueryRow(strip, r).Finish(strip.m[r], SumLanes(hn::Load(D(), strip.l + r * kLanes)),
                                strip.o + r * shape_.value_stride, raw_score);
    }
  }

  const kernels::Run& run_;
  const Problem& problem_;
  const kernels::ScoreRules& rules_;
  const kernels::PrefillShape& shape_;
  const std::size_t n_;
  const Sequence& sequence_;
  const kernels::PrefillBlock& block_;
};

template <class T>
void RunBlock(const kernels::PrefillBlock& block) {
  Block(block).Run<T>();
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
