// Packing: queries, keys and values as the micro-kernels read them, converted to floats.
#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/convert-inl.h"
#include "kernels/rows.h"

#if defined(HEED_KERNELS_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PACK_INL_H
#undef HEED_KERNELS_PACK_INL_H
#else
#define HEED_KERNELS_PACK_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// The rows that make up one panel of keys; where there is no row, null.
template <class T>
struct PanelRows {
  std::array<const T*, kPanel> row;
  std::array<float, kPanel> scale;
};

template <class T>
HWY_INLINE float LoadOne(const T* p) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::int8_t>)
    return static_cast<float>(*p);
  else
    return to_float(*p);
}

#if !HEED_WITH_HIGHWAY || HWY_TARGET == HWY_SCALAR
inline constexpr std::size_t kTransposed = 0;  // one lane: nothing to transpose
template <class T>
HWY_INLINE void TransposeColumns(const PanelRows<T>&, std::size_t, float*) {}
#else
inline constexpr std::size_t kTransposed = 4;  // columns at a time

// Four columns of rows [0, Lanes / 4) * 4 apart: block b of the vector comes from row[4 * b].
template <class DF, class T>
HWY_INLINE hn::Vec<DF> LoadBlocks(DF df, const T* const* row, std::size_t c) {
  if constexpr (hn::MaxLanes(DF()) == 4) {
    return LoadAs(df, row[0] + c);
  } else {
    const hn::Half<DF> dh;
    constexpr std::size_t kHalf = hn::MaxLanes(dh);
    return hn::Combine(df, LoadBlocks(dh, row + kHalf, c), LoadBlocks(dh, row, c));
  }
}

// Columns c .. c + 3 of all rows times their scales: out[column][kPanel]. Within each block of four
// lanes a 4 x 4 transpose; the blocks already come from the right rows.
template <class T>
HWY_INLINE void TransposeColumns(const PanelRows<T>& rows, std::size_t c, float* out) {
  const D d;
  const hn::Repartition<std::uint64_t, D> d64;
  HEED_UNROLL
  for (std::size_t v = 0; v < kPanelVectors; ++v) {
    const T* const* row = rows.row.data() + v * kLanes;
    const V r0 = LoadBlocks(d, row + 0, c), r1 = LoadBlocks(d, row + 1, c);
    const V r2 = LoadBlocks(d, row + 2, c), r3 = LoadBlocks(d, row + 3, c);
    const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
    const V scale = hn::LoadU(d, rows.scale.data() + v * kLanes);
    const auto store = [&](std::size_t column, auto keys) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::BitCast(d, keys), scale), d, out + column * kPanel + v * kLanes);
    };
    store(0, hn::InterleaveLower(d64, low01, low23));
    store(1, hn::InterleaveUpper(d64, low01, low23));
    store(2, hn::InterleaveLower(d64, high01, high23));
    store(3, hn::InterleaveUpper(d64, high01, high23));
  }
}
#endif

// One panel: out[dim][kPanel], out[c][n] = row n [c] * scale n; 0 where there is no row.
template <class T>
HWY_INLINE void PackPanel(const PanelRows<T>& rows, std::size_t dim, float* HWY_RESTRICT out) {
  std::size_t c = 0;
  const bool complete = std::find(rows.row.begin(), rows.row.end(), nullptr) == rows.row.end();
  if (kTransposed != 0 && complete)
    for (; c + kTransposed <= dim; c += kTransposed) TransposeColumns(rows, c, out + c * kPanel);
  for (; c < dim; ++c)
    for (std::size_t n = 0; n < kPanel; ++n)
      out[c * kPanel + n] =
          rows.row[n] == nullptr ? 0.0f : LoadOne(rows.row[n] + c) * rows.scale[n];
}

// Rows lie anywhere, so that no hardware foresees the next.
template <class T>
HWY_INLINE void PrefetchRow(const T* row, std::size_t dim) {
  for (std::size_t c = 0; c < dim; c += 64 / sizeof(T)) Prefetch(row + c);
}
inline constexpr std::size_t kRowsAheadOfPacking = 8;

// Keys [begin, end) times factor as panels [panel][dim][kPanel]; begin is where the first panel
// starts.
template <class T>
inline void PackKeys(const kernels::RowSource& source, std::size_t begin, std::size_t end,
                     std::size_t dim, float factor, float* HWY_RESTRICT out) {
  for (std::size_t key = begin; key < end; key += kPanel, out += dim * kPanel) {
    PanelRows<T> rows;
    const std::size_t next = std::min(key + kPanel, end), after = std::min(next + kPanel, end);
    for (std::size_t n = next; n < after; ++n) PrefetchRow(source.row<T>(n), dim);
    for (std::size_t n = 0; n < kPanel; ++n) {
      const bool there = key + n < end;
      rows.row[n] = there ? source.row<T>(key + n) : nullptr;
      rows.scale[n] = there ? factor * source.scale(key + n) : 0;
    }
    PackPanel(rows, dim, out);
  }
}

// Values [begin, end) as floats: out[panel][row][kPanel], columns from dim on 0.
template <class T>
inline void PackValues(const kernels::RowSource& source, std::size_t begin, std::size_t end,
                       std::size_t dim, float* HWY_RESTRICT out) {
  const std::size_t panel = (end - begin) * kPanel, whole = dim / kPanel * kPanel;
  for (std::size_t j = begin; j < end; ++j, out += kPanel) {
    const T* row = source.row<T>(j);
    const V scale = hn::Set(D(), source.scale(j));
    if (j + kRowsAheadOfPacking < end) PrefetchRow(source.row<T>(j + kRowsAheadOfPacking), dim);
    const auto store = [&](V v, float* to) HWY_ATTR {
      if constexpr (std::is_same_v<T, std::int8_t>) v = hn::Mul(v, scale);
      hn::Store(v, D(), to);
    };
    float* to = out;
    for (std::size_t c = 0; c < whole; c += kPanel, to += panel) {
      store(LoadAs(D(), row + c), to);
      store(LoadAs(D(), row + c + kLanes), to + kLanes);
    }
    if (whole == dim) continue;
    for (std::size_t n = 0; n < kPanel; n += kLanes) {
      const std::size_t c = std::min(whole + n, dim);
      store(LoadUpTo(row + c, dim - c), to + n);
    }
  }
}

// One row of a query as floats: out[dim].
template <class T>
HWY_INLINE void PackQuery(const T* q, std::size_t dim, float* HWY_RESTRICT out) {
  std::size_t c = 0;
  for (; c + kLanes <= dim; c += kLanes) hn::StoreU(LoadAs(D(), q + c), D(), out + c);
  if (c < dim) hn::StoreU(LoadSome(D(), q + c, dim - c), D(), out + c);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
