#include "kernels/gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"
#include "kernels/foreach_target.h"  // must come before the per-target code
#include "kernels/gemm-inl.h"

#ifndef HEED_KERNELS_GEMM_ONCE
#define HEED_KERNELS_GEMM_ONCE
namespace heed::kernels {
namespace {

// The tiles: what one task computes at a time. Any sizes give the same bits.
constexpr std::size_t kDepth = 512;       // rows of W; a panel of 16 columns is then 32 KB, one L1
constexpr std::size_t kTaskRows = 48;     // rows of a; kDepth deep they are 96 KB of an L2
constexpr std::size_t kTaskColumns = 64;  // columns of W; whole panels of every target
// Fewer multiply-adds than this are done sooner than another thread is woken.
constexpr double kWorthAThread = 1 << 19;

// One thread's memory for what is not yet, or no longer, in the form the micro-kernel works on.
struct Scratch {
  float a[kTaskRows * kDepth];        // rows of a, converted
  float c[kTaskRows * kTaskColumns];  // rows of c, before they are converted or cut
  float w[kDepth * kTaskColumns];     // panels of W, in W's dtype
};

struct Range {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// Part n of `parts` of [0, total), as equal as they can be.
Range part(std::size_t total, std::size_t parts, std::size_t n) {
  const auto start = [&](std::size_t m) {
    return m * (total / parts) + std::min(m, total % parts);
  };
  return {start(n), start(n + 1)};
}

// Element [i, j] of a strided matrix.
template <class T>
T* at(T* data, std::ptrdiff_t i_stride, std::size_t i, std::ptrdiff_t j_stride, std::size_t j) {
  return data + static_cast<std::ptrdiff_t>(i) * i_stride +
         static_cast<std::ptrdiff_t>(j) * j_stride;
}

// Calls f(T{}) with the C++ type of dtype.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f16: return f(f16{});
    case DType::bf16: return f(bf16{});
    default: return f(float{});
  }
}

}  // namespace
}  // namespace heed::kernels
#endif  // HEED_KERNELS_GEMM_ONCE

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {
namespace {

using namespace kernels;  // NOLINT: the tiles above

static_assert(kTaskColumns % kPanel == 0);

// Rows `in` and the columns of W as panels, with 0 for columns that fill up the last one. Whichever
// way W lies, its memory is read along.
template <class T>
void PackPanels(const Weight& w, Range in, Range columns, T* HWY_RESTRICT to) {
  const T* from =
      at(static_cast<const T*>(w.data), w.in_stride, in.begin, w.out_stride, columns.begin);
  const std::size_t panel_size = in.size() * kPanel, whole = columns.size() / kPanel;
  if (columns.size() % kPanel != 0) std::fill_n(to + whole * panel_size, panel_size, T{});
  std::size_t first = 0;
  if (w.out_stride == 1) {
    for (std::size_t x = 0; x < in.size(); ++x)
      for (std::size_t n = 0; n < whole; ++n)
        std::copy_n(at(from, w.in_stride, x, 1, n * kPanel), kPanel,
                    to + n * panel_size + x * kPanel);
    first = whole * kPanel;
  }
  for (std::size_t j = first; j < columns.size(); ++j)
    for (std::size_t x = 0; x < in.size(); ++x)
      to[j / kPanel * panel_size + x * kPanel + j % kPanel] =
          *at(from, w.in_stride, x, w.out_stride, j);
}

// n numbers from one element type to another, one of them float.
template <class From, class To>
void ConvertRow(const From* from, std::size_t n, To* HWY_RESTRICT to) {
  std::size_t x = 0;
  for (; x + kLanes <= n; x += kLanes) StoreAs(LoadAs(D(), from + x), to + x);
  if (x < n) StoreSome(LoadSome(D(), from + x, n - x), to + x, n - x);
}

// MultiplyStrip for 1 ... kStripRows rows, on one panel or on as many at once as suit the rows.
template <class T, bool kMany, std::size_t... kIndex>
constexpr auto StripTable(std::index_sequence<kIndex...>) {
  return std::array{&MultiplyStrip < kIndex + 1, kMany ? PanelsAtOnce(kIndex + 1) : 1, T > ...};
}
template <class T, bool kMany>
constexpr auto kStrips = StripTable<T, kMany>(std::make_index_sequence<kStripRows>());

// Rows of a or c as floats: in place where they are, else in scratch.
struct FloatRows {
  float* data;
  std::ptrdiff_t stride;
};

FloatRows FloatsOfA(const Product& p, Range rows, Range in, Scratch& scratch) {
  if (p.a_dtype == DType::f32) {
    const float* a = at(static_cast<const float*>(p.a), p.a_stride, rows.begin, 1, in.begin);
    return {const_cast<float*>(a), p.a_stride};
  }
  with_type(p.a_dtype, [&](auto type) {
    const auto* a = static_cast<const decltype(type)*>(p.a);
    for (std::size_t i = 0; i < rows.size(); ++i)
      ConvertRow(at(a, p.a_stride, rows.begin + i, 1, in.begin), in.size(), scratch.a + i * kDepth);
  });
  return {scratch.a, kDepth};
}

FloatRows FloatsOfC(const Product& p, Range rows, Range columns, Scratch& scratch) {
  if (p.c_dtype != DType::f32 || columns.size() % kPanel != 0) return {scratch.c, kTaskColumns};
  return {at(static_cast<float*>(p.c), p.c_stride, rows.begin, 1, columns.begin), p.c_stride};
}

void StoreC(const Product& p, Range rows, Range columns, const Scratch& scratch) {
  with_type(p.c_dtype, [&](auto type) {
    auto* c = static_cast<decltype(type)*>(p.c);
    for (std::size_t i = 0; i < rows.size(); ++i)
      ConvertRow(scratch.c + i * kTaskColumns, columns.size(),
                 at(c, p.c_stride, rows.begin + i, 1, columns.begin));
  });
}

// Rows `in` of the panels of W that hold the columns.
template <class T>
struct Panels {
  const T* data;
  std::size_t stride;
};

template <class T>
Panels<T> PanelsOf(const Weight& w, Range in, Range columns, Scratch& scratch) {
  if (w.packed)
    return {static_cast<const T*>(w.data) + columns.begin * w.in + in.begin * kPanel,
            w.in * kPanel};
  PackPanels(w, in, columns, reinterpret_cast<T*>(scratch.w));
  return {reinterpret_cast<const T*>(scratch.w), in.size() * kPanel};
}

// c += a w over rows `in` of W, for the rows and columns of a task.
template <class T>
void MultiplyBlock(const Product& p, Range rows, Range in, Range columns, const FloatRows& c,
                   Scratch& scratch) {
  const FloatRows a = FloatsOfA(p, rows, in, scratch);
  const Panels<T> w = PanelsOf<T>(p.w, in, columns, scratch);
  const float* bias = p.bias != nullptr && in.end == p.w.in ? p.bias + columns.begin : nullptr;
  const std::size_t panels = ceil_div(columns.size(), kPanel);
  const std::size_t strips = ceil_div(rows.size(), kStripRows);
  const std::size_t most = strips == 1 ? PanelsAtOnce(rows.size()) : 1;
  for (std::size_t n = 0, count = 0; n < panels; n += count) {
    count = n + most <= panels ? most : 1;
    for (std::size_t s = 0; s < strips; ++s) {
      const Range strip = part(rows.size(), strips, s);
      const auto multiply_strip =
          count > 1 ? kStrips<T, true>[strip.size() - 1] : kStrips<T, false>[strip.size() - 1];
      multiply_strip(at(a.data, a.stride, strip.begin, 1, 0), a.stride, w.data + n * w.stride,
                     w.stride, in.size(), bias == nullptr ? nullptr : bias + n * kPanel,
                     at(c.data, c.stride, strip.begin, 1, n * kPanel), c.stride, in.begin == 0);
    }
  }
}

void MultiplyTask(const Product& p, Range rows, Range columns, Scratch& scratch) {
  const FloatRows c = FloatsOfC(p, rows, columns, scratch);
  with_type(p.w.dtype, [&](auto type) {
    for (std::size_t x = 0; x < p.w.in; x += kDepth)
      MultiplyBlock<decltype(type)>(p, rows, {x, std::min(x + kDepth, p.w.in)}, columns, c,
                                    scratch);
  });
  if (c.data == scratch.c) StoreC(p, rows, columns, scratch);
}

void PackWeight(const Weight& from, void* to) {
  with_type(from.dtype, [&](auto type) {
    PackPanels(from, {0, from.in}, {0, from.out}, static_cast<decltype(type)*>(to));
  });
}

std::size_t PanelWidth() {
  return kPanel;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(MultiplyTask);
HWY_EXPORT(PackWeight);
HWY_EXPORT(PanelWidth);

namespace kernels {

std::size_t panel_width(Target target) {
  return HEED_FUNCTION(PanelWidth, target)();
}

std::size_t packed_columns(Target target, std::size_t out) {
  const std::size_t width = panel_width(target);
  return ceil_div(out, width) * width;
}

void pack(Target target, const Weight& from, void* to) {
  HEED_FUNCTION(PackWeight, target)(from, to);
}

const std::size_t kProductScratch = sizeof(Scratch) / sizeof(float);

void multiply(Target target, std::span<Product> products, std::size_t threads, float* scratch) {
  const auto task = HEED_FUNCTION(MultiplyTask, target);
  std::size_t tasks = 0;
  double work = 0;
  for (Product& p : products) {
    p.first_task = tasks;
    tasks += ceil_div(p.rows, kTaskRows) * ceil_div(p.w.out, kTaskColumns);
    work +=
        static_cast<double>(p.rows) * static_cast<double>(p.w.in) * static_cast<double>(p.w.out);
  }
  parallel_for(
      tasks, work < kWorthAThread ? 1 : threads, [&](std::size_t index, std::size_t worker) {
        const auto next =
            std::upper_bound(products.begin(), products.end(), index,
                             [](std::size_t i, const Product& p) { return i < p.first_task; });
        const Product& p = *(next - 1);
        // All rows against one stretch of columns, then the next: W is read from memory once.
        const std::size_t row_parts = ceil_div(p.rows, kTaskRows);
        const std::size_t n = index - p.first_task, column = n / row_parts * kTaskColumns;
        task(p, part(p.rows, row_parts, n % row_parts),
             {column, std::min(column + kTaskColumns, p.w.out)},
             reinterpret_cast<Scratch*>(scratch)[worker]);
        return true;
      });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
