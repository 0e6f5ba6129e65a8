// Ahead: brings what prefill reads next to the second-level cache while it works on something else.
#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/simd-inl.h"

#if defined(HEED_KERNELS_PREFILL_AHEAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PREFILL_AHEAD_INL_H
#undef HEED_KERNELS_PREFILL_AHEAD_INL_H
#else
#define HEED_KERNELS_PREFILL_AHEAD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

class Ahead {
 public:
  void Clear() {
    parts_ = next_ = bytes_ = per_step_ = 0;
    at_ = end_ = nullptr;
  }

  // `rows` rows of `bytes` each, `stride` bytes apart. Beyond kParts calls nothing is added.
  void Add(const void* first, std::size_t rows, std::size_t bytes, std::ptrdiff_t stride) {
    if (rows == 0 || parts_ == kParts) return;
    bytes_ += rows * bytes;
    if (stride == static_cast<std::ptrdiff_t>(bytes)) {  // rows without gaps are one row
      bytes *= rows;
      rows = 1;
    }
    part_[parts_++] = {static_cast<const char*>(first), stride, bytes, rows};
  }

  // Has everything be asked for in so many steps: all at once the requests would wait for each
  // other, and the work for them.
  void Spread(std::size_t steps) {
    if (parts_ != 0) per_step_ = (bytes_ / std::max<std::size_t>(1, steps) / kLine + 1) * kLine;
  }

  HWY_INLINE void Step() {
    if (per_step_ != 0) Request();
  }

 private:
  static constexpr std::size_t kLine = 64, kParts = 5;
  struct Part {
    const char* row = nullptr;
    std::ptrdiff_t stride = 0;
    std::size_t bytes = 0, rows = 0;
  };

  void Request() {
    for (std::size_t left = per_step_; left != 0;) {
      if (at_ >= end_ && !NextRow()) return;
      const std::size_t here = std::min(left, static_cast<std::size_t>(end_ - at_));
      for (const char* p = at_; p < at_ + here; p += kLine) PrefetchFar(p);
      at_ += here;
      left -= here;
    }
  }

  bool NextRow() {
    if (next_ == parts_) return false;
    Part& part = part_[next_];
    at_ = part.row;
    end_ = at_ + part.bytes;
    part.row += part.stride;
    if (--part.rows == 0) ++next_;
    return true;
  }

  std::array<Part, kParts> part_;
  std::size_t parts_ = 0, next_ = 0;           // of part_
  const char *at_ = nullptr, *end_ = nullptr;  // in a row
  std::size_t bytes_ = 0, per_step_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
