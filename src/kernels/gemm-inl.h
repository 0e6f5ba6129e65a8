// The micro-kernel of a product: a strip of rows times panels of W, summed in registers.
#include <cstddef>

#include "kernels/convert-inl.h"

#if defined(HEED_KERNELS_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_INL_H
#undef HEED_KERNELS_GEMM_INL_H
#else
#define HEED_KERNELS_GEMM_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Two multiply-adds start per cycle and take 4: eight chains keep them busy. A strip of few rows
// goes over several panels at once to have that many.
constexpr std::size_t PanelsAtOnce(std::size_t rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

// Rows of a panel that are asked for ahead of their use: 2 KB of f32. Pages end the hardware's own
// prefetching every 4 KB; farther ahead than this nothing is gained, and lost with one row.
inline constexpr std::size_t kRowsAhead = 32;

// sum[i][n] += factor_i * row_n, where the shorter of the two is held in registers throughout.
template <std::size_t kRows, std::size_t kVectors, class Factor, class Row>
HWY_INLINE void AddOuterProduct(V (&sum)[kRows][kVectors], const Factor& factor, const Row& row) {
  if constexpr (kRows < kVectors) {
    V f[kRows];
    HEED_UNROLL
    for (std::size_t i = 0; i < kRows; ++i) f[i] = factor(i);
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n) {
      const V r = row(n);
      HEED_UNROLL
      for (std::size_t i = 0; i < kRows; ++i) sum[i][n] = hn::MulAdd(f[i], r, sum[i][n]);
    }
  } else {
    V r[kVectors];
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n) r[n] = row(n);
    HEED_UNROLL
    for (std::size_t i = 0; i < kRows; ++i) {
      const V f = factor(i);
      HEED_UNROLL
      for (std::size_t n = 0; n < kVectors; ++n) sum[i][n] = hn::MulAdd(f, r[n], sum[i][n]);
    }
  }
}

// c [kRows, kPanels * kPanel] = start + a [kRows, depth] w [depth, kPanels * kPanel] + bias, where
// start is 0 or c itself. Panels lie panel_stride elements apart; bias may be null.
template <std::size_t kRows, std::size_t kPanels, class T>
void MultiplyStrip(const float* HWY_RESTRICT a, std::ptrdiff_t a_stride, const T* HWY_RESTRICT w,
                   std::size_t panel_stride, std::size_t depth, const float* HWY_RESTRICT bias,
                   float* HWY_RESTRICT c, std::ptrdiff_t c_stride, bool from_zero) {
  constexpr std::size_t kVectors = kPanels * kPanelVectors;
  const D d;
  const auto c_at = [&](std::size_t i, std::size_t n) {
    return c + static_cast<std::ptrdiff_t>(i) * c_stride + n * kLanes;
  };
  V sum[kRows][kVectors];
  HEED_UNROLL
  for (std::size_t i = 0; i < kRows; ++i) {
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n)
      sum[i][n] = from_zero ? hn::Zero(d) : hn::LoadU(d, c_at(i, n));
  }

  HEED_UNROLL_4
  for (std::size_t x = 0; x < depth; ++x) {
    const auto factor = [&](std::size_t i) {
      return hn::Set(d, a[static_cast<std::ptrdiff_t>(i) * a_stride + x]);
    };
    const auto row = [&](std::size_t n) {
      const T* panel = w + n / kPanelVectors * panel_stride + x * kPanel;
      if (n % kPanelVectors == 0) Prefetch(panel + kRowsAhead * kPanel);
      return LoadAs(d, panel + n % kPanelVectors * kLanes);
    };
    AddOuterProduct(sum, factor, row);
  }

  HEED_UNROLL
  for (std::size_t i = 0; i < kRows; ++i) {
    HEED_UNROLL
    for (std::size_t n = 0; n < kVectors; ++n) {
      if (bias != nullptr) sum[i][n] = hn::Add(sum[i][n], hn::LoadU(d, bias + n * kLanes));
      hn::StoreU(sum[i][n], d, c_at(i, n));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
