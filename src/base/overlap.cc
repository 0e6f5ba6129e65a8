#include "base/overlap.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/checks.h"

namespace heed {
namespace {

// Bytes n * step for n in [0, last].
struct Axis {
  std::int64_t step = 0;
  std::int64_t last = 0;
  std::int64_t extent() const { return step * last; }
};

// Keeps the longest steps first.
template <std::size_t N>
void insert(std::array<Axis, N>& axes, std::size_t& count, Axis axis) {
  std::size_t at = count++;
  for (; at > 0 && axes[at - 1].step < axis.step; --at) axes[at] = axes[at - 1];
  axes[at] = axis;
}

// Axis n of a region, its step >= 0. The stride of an axis with one element may be any number.
Axis axis_of(const Region& region, std::size_t n) {
  if (region.sizes[n] <= 1) return {};
  const std::int64_t step = region.strides[n] * static_cast<std::int64_t>(region.element_bytes);
  return {step < 0 ? -step : step, static_cast<std::int64_t>(region.sizes[n]) - 1};
}

struct Bounds {
  std::int64_t lowest = 0;  // element
  std::int64_t extent = 0;  // bytes from there to the highest
  bool empty = false;
};

Bounds bounds_of(const Region& region) {
  Bounds bounds = {static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(region.data))};
  for (std::size_t n = 0; n < 4; ++n) {
    if (region.sizes[n] == 0) bounds.empty = true;
    const std::int64_t extent = axis_of(region, n).extent();
    if (region.strides[n] < 0) bounds.lowest -= extent;
    bounds.extent += extent;
  }
  return bounds;
}

// Sums with one term of every axis.
class Sums {
 public:
  void add(Axis axis) {
    if (axis.last == 0 || axis.step == 0) return;
    for (std::size_t n = 0; n < count_; ++n)
      if (axes_[n].step == axis.step) return static_cast<void>(axes_[n].last += axis.last);
    insert(axes_, count_, axis);
  }

  // Whether one of them lies in [low, high].
  bool meet(std::int64_t low, std::int64_t high) {
    // Steps no longer than the interval cannot step over it: one of them meets it if the sum of the
    // others comes near enough.
    while (count_ > 0 && axes_[count_ - 1].step <= high - low + 1) low -= axes_[--count_].extent();
    rest_[count_] = 0;
    for (std::size_t n = count_; n-- > 0;) rest_[n] = rest_[n + 1] + axes_[n].extent();
    tried_ = 0;
    return meet_from(0, low, high);
  }

 private:
  // Layouts in use are told apart in a few steps, as strides are multiples of each other. Of
  // others, those that take longer than this count as overlapping.
  static constexpr std::size_t kMostTried = 1 << 20;

  bool meet_from(std::size_t n, std::int64_t low, std::int64_t high) {
    if (high < 0 || low > rest_[n]) return false;
    if (n == count_ || ++tried_ > kMostTried) return true;
    const std::int64_t step = axes_[n].step, beyond = low - rest_[n + 1];
    const std::int64_t first = beyond <= 0 ? 0 : (beyond + step - 1) / step;
    const std::int64_t last = std::min(axes_[n].last, high / step);
    for (std::int64_t i = first; i <= last; ++i)
      if (meet_from(n + 1, low - i * step, high - i * step)) return true;
    return false;
  }

  std::array<Axis, 8> axes_ = {};
  std::array<std::int64_t, 9> rest_ = {};  // the largest sum of this axis and those after it
  std::size_t count_ = 0, tried_ = 0;
};

}  // namespace

Region region(ConstTensorView t) {
  return {t.data,
          size_of(t.dtype),
          {t.batch, t.heads, t.tokens, t.dim},
          {t.batch_stride, t.head_stride, t.token_stride, 1}};
}

Region region(const ScoreView& scores) {
  return {scores.data, size_of(scores.dtype), scores.sizes, scores.strides};
}

Region region(const RowView& rows, ConstTensorView tokens) {
  return {rows.data,
          sizeof(float),
          {tokens.batch, tokens.heads, tokens.tokens, 1},
          {rows.batch_stride, rows.head_stride, rows.token_stride, 1}};
}

bool overlap(const Region& a, const Region& b) {
  if (a.data == nullptr || b.data == nullptr) return false;  // most calls have no mask, bias or lse
  const Bounds in_a = bounds_of(a), in_b = bounds_of(b);
  if (in_a.empty || in_b.empty) return false;
  const auto bytes = [](const Region& r) { return static_cast<std::int64_t>(r.element_bytes); };
  const std::int64_t distance = in_b.lowest - in_a.lowest;
  if (distance >= in_a.extent + bytes(a) || -distance >= in_b.extent + bytes(b)) return false;
  // An element of b minus one of a is distance - in_a.extent plus a sum of all steps; they share a
  // byte if that is above -bytes(b) and below bytes(a).
  Sums differences;
  for (const Region* region : {&a, &b})
    for (std::size_t n = 0; n < 4; ++n) differences.add(axis_of(*region, n));
  const std::int64_t origin = distance - in_a.extent;
  return differences.meet(1 - bytes(b) - origin, bytes(a) - 1 - origin);
}

bool same_elements(const Region& a, const Region& b) {
  if (a.data != b.data || a.element_bytes != b.element_bytes || a.sizes != b.sizes) return false;
  for (std::size_t n = 0; n < a.sizes.size(); ++n)
    if (a.sizes[n] > 1 && a.strides[n] != b.strides[n]) return false;
  return true;
}

bool overlaps_itself(const Region& region) {
  if (region.data == nullptr) return false;
  const Bounds bounds = bounds_of(region);
  if (bounds.empty) return false;
  std::array<Axis, 4> sorted = {};
  std::size_t count = 0;
  for (std::size_t n = 0; n < 4; ++n)
    if (region.sizes[n] > 1) insert(sorted, count, axis_of(region, n));
  const std::span axes = std::span(sorted).first(count);
  const auto bytes = static_cast<std::int64_t>(region.element_bytes);
  std::int64_t inner = bounds.extent;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    // Two elements that differ along axis n, and perhaps along those of shorter steps.
    inner -= axes[n].extent();
    if (axes[n].step >= inner + bytes) continue;
    Sums differences;
    differences.add({axes[n].step, axes[n].last - 1});
    for (const Axis& axis : axes.subspan(n + 1)) differences.add({axis.step, 2 * axis.last});
    const std::int64_t origin = axes[n].step - inner;
    if (differences.meet(1 - bytes - origin, bytes - 1 - origin)) return true;
  }
  return false;
}

void require_apart(std::string_view what, std::initializer_list<NamedRegion> written,
                   std::initializer_list<NamedRegion> read) {
  const auto require_pair = [&](const NamedRegion& out, const NamedRegion& other) {
    if (!overlap(out.region, other.region)) return;
    const auto distance = reinterpret_cast<std::intptr_t>(out.region.data) -
                          reinterpret_cast<std::intptr_t>(other.region.data);
    require(distance != 0, what, ": ", out.name, " shares memory with ", other.name,
            ": both begin at the same place");
    fail(what, ": ", out.name, " shares memory with ", other.name, ", which begins ",
         distance < 0 ? -distance : distance, " bytes ", distance < 0 ? "after" : "before", " it");
  };
  for (const NamedRegion* out = written.begin(); out != written.end(); ++out) {
    require(!overlaps_itself(out->region), what, ": ", out->name,
            " has elements that share memory with each other");
    for (const NamedRegion& other : read) require_pair(*out, other);
    for (const NamedRegion* other = written.begin(); other != out; ++other)
      require_pair(*out, *other);
  }
}

}  // namespace heed
