// The micro-kernels of prefill: Q K^T and P V for a strip of a few rows, sums held in registers.
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/simd-inl.h"

#if defined(HEED_KERNELS_MICRO_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_MICRO_INL_H
#undef HEED_KERNELS_MICRO_INL_H
#else
#define HEED_KERNELS_MICRO_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Rows of a strip: with 16 registers 12 sums, 2 vectors loaded and 1 broadcast.
inline constexpr std::size_t kRows = kStripRows == 6 ? 6 : 10;

// Turns of a loop whose end the processor foresees: with more, it mispredicts the last.
inline constexpr std::size_t kForeseen = 64;

// sum[r] (+)= x[r * stride] * row
template <std::size_t R, bool kFirst>
HWY_INLINE void OuterProduct(const float* HWY_RESTRICT x, std::ptrdiff_t stride,
                             const float* HWY_RESTRICT row, V (&sum)[R][kPanelVectors]) {
  const D d;
  const V row0 = hn::LoadU(d, row), row1 = hn::LoadU(d, row + kLanes);
  HEED_UNROLL
  for (std::size_t r = 0; r < R; ++r) {
    const V xr = hn::Set(d, x[static_cast<std::ptrdiff_t>(r) * stride]);
    // Starting with a product rather than from zeros saves some cycles per panel.
    sum[r][0] = kFirst ? hn::Mul(xr, row0) : hn::MulAdd(xr, row0, sum[r][0]);
    sum[r][1] = kFirst ? hn::Mul(xr, row1) : hn::MulAdd(xr, row1, sum[r][1]);
  }
}

template <std::size_t R>
HWY_INLINE void StoreRows(const V (&sum)[R][kPanelVectors], float* HWY_RESTRICT to,
                          std::size_t stride) {
  const D d;
  HEED_UNROLL
  for (std::size_t r = 0; r < R; ++r) {
    hn::Store(sum[r][0], d, to + r * stride);
    hn::Store(sum[r][1], d, to + r * stride + kLanes);
  }
}

// s [R][s_stride] = q k^T for `panels` panels of keys. q [R][q_stride], k [panel][dim][kPanel].
// Calls between() once per panel.
template <std::size_t R, class F>
HWY_INLINE void ScorePanels(const float* HWY_RESTRICT q, std::ptrdiff_t q_stride,
                            const float* HWY_RESTRICT k, std::size_t dim, std::size_t panels,
                            float* HWY_RESTRICT s, std::size_t s_stride, F&& between) {
  for (std::size_t p = 0; p < panels; ++p, k += dim * kPanel, s += kPanel) {
    V sum[R][kPanelVectors];
    OuterProduct<R, true>(q, q_stride, k, sum);
    const float* row = k + kPanel;
    for (std::size_t c = 1; c < dim;) {
      const std::size_t end = std::min(dim, (c / kForeseen + 1) * kForeseen);
      for (; c < end; ++c, row += kPanel) OuterProduct<R, false>(q + c, q_stride, row, sum);
    }
    StoreRows<R>(sum, s, s_stride);
    between();
  }
}

template <std::size_t R>
HWY_INLINE void StoreScaledRows(const V (&sum)[R][kPanelVectors], const float* HWY_RESTRICT scale,
                                float* HWY_RESTRICT to, std::ptrdiff_t stride) {
  const D d;
  HEED_UNROLL
  for (std::size_t r = 0; r < R; ++r) {
    float* row = to + static_cast<std::ptrdiff_t>(r) * stride;
    const V factor = hn::Set(d, scale[r]);
    hn::StoreU(hn::Mul(sum[r][0], factor), d, row);
    hn::StoreU(hn::Mul(sum[r][1], factor), d, row + kLanes);
  }
}

// What a product is added to: o [R][stride], row r times factor[r]; or nothing, if o is null.
struct Addend {
  const float* o;
  std::size_t stride;
  const float* factor;
};

// The values of some keys: panels of columns `panel` floats apart, in them a key's every `row`
// floats. Rows where they lie are panels kPanel apart.
struct Values {
  const float* data = nullptr;
  std::size_t row = 0, panel = 0;

  // Column c of key j; c is where a vector of a panel begins.
  const float* At(std::size_t j, std::size_t c) const {
    return data + c / kPanel * panel + j * row + c % kPanel;
  }
  Values From(std::size_t j) const { return {At(j, 0), row, panel}; }
};

// sum = p v over `keys` > 0 keys for one panel of values, whose rows are `row` floats apart.
template <std::size_t R, class Distance>
HWY_INLINE void MultiplyPanel(const float* HWY_RESTRICT p, std::size_t p_stride,
                              const float* HWY_RESTRICT v, Distance row, std::size_t keys,
                              V (&sum)[R][kPanelVectors]) {
  const auto step = static_cast<std::ptrdiff_t>(p_stride);
  OuterProduct<R, true>(p, step, v, sum);
  for (std::size_t j = 1; j < keys; ++j) {
    v += row;
    Prefetch(v + 8 * row);  // the hardware does not follow rows, and is late for each panel
    OuterProduct<R, false>(p + j, step, v, sum);
  }
}

// addend + p v over `keys` > 0 keys, kPanel of `cols` columns at a time: store(column, sums).
// p [R][p_stride].
template <std::size_t R, class Store>
HWY_INLINE void AddValues(const float* HWY_RESTRICT p, std::size_t p_stride, const Values& v,
                          std::size_t cols, std::size_t keys, const Addend& addend, Store&& store) {
  const D d;
  for (std::size_t c = 0; c < cols; c += kPanel) {
    V sum[R][kPanelVectors];
    if (v.row == kPanel)  // a constant takes no register
      MultiplyPanel<R>(p, p_stride, v.At(0, c), std::integral_constant<std::size_t, kPanel>(), keys,
                       sum);
    else
      MultiplyPanel<R>(p, p_stride, v.At(0, c), v.row, keys, sum);
    if (addend.o != nullptr) {  // at the end, so that nothing waits for it
      HEED_UNROLL
      for (std::size_t r = 0; r < R; ++r) {
        const V f = hn::Set(d, addend.factor[r]);
        const float* o = addend.o + r * addend.stride + c;
        sum[r][0] = hn::MulAdd(f, hn::Load(d, o), sum[r][0]);
        sum[r][1] = hn::MulAdd(f, hn::Load(d, o + kLanes), sum[r][1]);
      }
    }
    store(c, sum);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
