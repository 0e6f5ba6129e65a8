// The micro-kernels of prefill: Q K^T and P V for a strip of a few rows, sums held in registers.
#include <cstddef>

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

// Rows of a strip. With 16 registers 6 would fit (12 sums, 2 loaded, 1 broadcast), but lose 20
// cycles at the end of every panel on Zen 3, where 5 lose 3.
inline constexpr std::size_t kRows = kStripRows == 6 ? 5 : 10;

// sum[r] (+)= x[r * stride] * row
template <std::size_t R, bool kFirst>
HWY_INLINE void OuterProduct(const float* HWY_RESTRICT x, std::size_t stride,
                             const float* HWY_RESTRICT row, V (&sum)[R][kPanelVectors]) {
  const D d;
  const V row0 = hn::LoadU(d, row), row1 = hn::LoadU(d, row + kLanes);
  HEED_UNROLL
  for (std::size_t r = 0; r < R; ++r) {
    const V xr = hn::Set(d, x[r * stride]);
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
HWY_INLINE void ScorePanels(const float* HWY_RESTRICT q, std::size_t q_stride,
                            const float* HWY_RESTRICT k, std::size_t dim, std::size_t panels,
                            float* HWY_RESTRICT s, std::size_t s_stride, F&& between) {
  for (std::size_t p = 0; p < panels; ++p, k += dim * kPanel, s += kPanel) {
    V sum[R][kPanelVectors];
    OuterProduct<R, true>(q, q_stride, k, sum);
    const float* row = k + kPanel;
    for (std::size_t c = 1; c < dim; ++c, row += kPanel) {
      Prefetch(row + dim * kPanel);  // the next panel
      OuterProduct<R, false>(q + c, q_stride, row, sum);
    }
    StoreRows<R>(sum, s, s_stride);
    between();
  }
}

// o [R][o_stride] = o * factor + p v over `keys` > 0 keys; without the first term if this is the
// first. p [R][p_stride], v [keys][v_stride]; o_stride, a multiple of kPanel, columns.
template <std::size_t R, bool kFirst>
HWY_INLINE void AddValues(const float* HWY_RESTRICT p, std::size_t p_stride,
                          const float* HWY_RESTRICT v, std::size_t v_stride, std::size_t keys,
                          const float* HWY_RESTRICT factor, float* HWY_RESTRICT o,
                          std::size_t o_stride) {
  const D d;
  for (std::size_t c = 0; c < o_stride; c += kPanel) {
    V sum[R][kPanelVectors];
    const float* row = v + c;
    std::size_t j = 0;
    if constexpr (kFirst) {
      OuterProduct<R, true>(p, p_stride, row, sum);
      j = 1;
      row += v_stride;
    } else {
      HEED_UNROLL
      for (std::size_t r = 0; r < R; ++r) {
        const V f = hn::Set(d, factor[r]);
        sum[r][0] = hn::Mul(f, hn::Load(d, o + r * o_stride + c));
        sum[r][1] = hn::Mul(f, hn::Load(d, o + r * o_stride + c + kLanes));
      }
    }
    for (; j < keys; ++j, row += v_stride) {
      Prefetch(row + 8 * v_stride);  // the hardware does not follow such strides
      OuterProduct<R, false>(p + j, p_stride, row, sum);
    }
    StoreRows<R>(sum, o + c, o_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
