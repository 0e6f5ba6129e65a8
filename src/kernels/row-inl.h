// One query row of a run: where it is read from, which keys it sees, and how its result is ended
// and stored. Both kernels begin and end their rows here.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/scores-inl.h"

#if defined(HEED_KERNELS_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ROW_INL_H
#undef HEED_KERNELS_ROW_INL_H
#else
#define HEED_KERNELS_ROW_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// s [cols], the scores of a row from `key` on: -infinity outside the range of keys it sees.
HWY_INLINE void HideOutside(KeyRange range, std::size_t key, std::size_t cols, float* s) {
  const std::size_t begin = std::clamp(range.begin, key, key + cols) - key;
  const std::size_t end = std::clamp(range.end, key + begin, key + cols) - key;
  std::fill(s, s + begin, -kInf);
  std::fill(s + end, s + cols, -kInf);
}

// Query i of head `head` of sequence number n.
class Row {
 public:
  Row(const kernels::Run& run, const kernels::ScoreRules& rules, std::size_t n, std::size_t head,
      std::size_t i)
      : run_(run), rules_(rules), sequence_(run.problem->sequences[n]), n_(n), head_(head), i_(i) {}

  // The keys that causal, windows and the key length let it see.
  KeyRange Range() const { return run_.problem->visible_keys(sequence_, i_); }

  // Whether mask or bias hide key j of that range.
  bool Hides(std::size_t j) const {
    return kernels::mask_hides(rules_, n_, head_, i_, j) ||
           kernels::bias_hides(rules_, n_, head_, i_, j);
  }

  // Whether the score of key j was -infinity before score_mod, which then has not hidden it.
  bool MinusInfinityBeforeMod(std::size_t j, float raw_score) const {
    float s[kLanes] = {raw_score}, scratch[kLanes];
    CapAndBias(rules_, {.s = s,
                        .stride = kLanes,
                        .rows = 1,
                        .cols = 1,
                        .sequence = n_,
                        .head = head_,
                        .query = i_,
                        .key = j,
                        .position = PositionFrom(j),
                        .scratch = scratch});
    return s[0] == -kInf;
  }

  // Where it stands among the keys, minus `key`.
  double PositionFrom(std::size_t key) const {
    return static_cast<double>(sequence_.offset) +
           (static_cast<double>(i_) - static_cast<double>(key));
  }

  template <class T>
  const T* Query() const {
    return static_cast<const T*>(run_.q.data) + At(run_.q);
  }

  // Where the row begins in a tensor of the run.
  template <class View>
  const std::byte* Address(const View& view) const {
    return static_cast<const std::byte*>(view.data) +
           At(view) * static_cast<std::ptrdiff_t>(size_of(view.dtype));
  }

  // s [cols], the scores from `key` on: -infinity outside the range.
  void HideOutside(std::size_t key, std::size_t cols, float* s) const {
    heed::HWY_NAMESPACE::HideOutside(Range(), key, cols, s);
  }

  // Ends the row: o / l to `out` and the logsumexp.
  template <class RawScore>
  void Finish(float m, float l, const float* o, RawScore&& raw_score) const {
    Store(o, End(m, l, raw_score));
  }

  // Writes the logsumexp and returns what o is to be multiplied with. raw_score(j) is q . k_j,
  // asked in rare cases.
  template <class RawScore>
  float End(float m, float l, RawScore&& raw_score) const {
    const float sink = kernels::sink_of(run_, head_);
    float scale = 1, lse = 0;
    if (l == 0.0f && m == -kInf && sink == -kInf && SeesAKey(raw_score)) {
      lse = scale = std::numeric_limits<float>::quiet_NaN();  // all it sees is -infinity
    } else if (l == 0.0f && m == -kInf) {
      lse = sink;
    } else {
      if (sink != -kInf) {
        const float s = sink * static_cast<float>(kernels::kLog2E);
        const float top = std::max(m, s);
        scale = std::exp2(m - top);
        l = l * scale + std::exp2(s - top);
        m = top;
      }
      if (run_.lse)
        lse = static_cast<float>((static_cast<double>(m) + std::log2(static_cast<double>(l))) *
                                 kernels::kLn2);
      scale /= l;
    }
    if (run_.lse) run_.lse.data[At(run_.lse)] = lse;
    return scale;
  }

  // The result, o times scale.
  void Store(const float* o, float scale) const {
    const TensorView& out = run_.out;
    switch (out.dtype) {
      case DType::f16: return StoreScaled(o, scale, static_cast<f16*>(out.data) + At(out));
      case DType::bf16: return StoreScaled(o, scale, static_cast<bf16*>(out.data) + At(out));
      default: return StoreScaled(o, scale, Result());
    }
  }

  // Where it goes, if the result is of floats.
  float* Result() const { return static_cast<float*>(run_.out.data) + At(run_.out); }

 private:
  template <class View>
  std::ptrdiff_t At(const View& view) const {
    return static_cast<std::ptrdiff_t>(sequence_.batch) * view.batch_stride +
           static_cast<std::ptrdiff_t>(head_) * view.head_stride +
           static_cast<std::ptrdiff_t>(sequence_.first_query + i_) * view.token_stride;
  }

  // Whether it sees any key, by visibility and not by magnitude. Asked when all its scores came out
  // as -infinity.
  template <class RawScore>
  bool SeesAKey(RawScore&& raw_score) const {
    const KeyRange range = Range();
    for (std::size_t j = range.begin; j < range.end; ++j) {
      if (Hides(j)) continue;
      if (!rules_.mod || MinusInfinityBeforeMod(j, raw_score(j))) return true;
    }
    return false;
  }

  template <class T>
  void StoreScaled(const float* o, float scale, T* to) const {
    const D d;
    ForVectors(run_.problem->value_dim, [&](std::size_t c, std::size_t count) {
      const V v = hn::Mul(hn::LoadU(d, o + c), hn::Set(d, scale));
      if (count == kLanes)
        StoreAs(v, to + c);
      else
        StoreSome(v, to + c, count);
    });
  }

  const kernels::Run& run_;
  const kernels::ScoreRules& rules_;
  const Sequence& sequence_;
  std::size_t n_, head_, i_;
};

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
