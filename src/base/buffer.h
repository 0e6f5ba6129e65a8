// AlignedBuffer: uninitialised, cache-line aligned memory for kernels and packed weights.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/checks.h"

namespace heed {

inline constexpr std::size_t kAlignment =
    128;  // two cache lines: adjacent-line prefetchers pair them

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) : size_(size) {
    const std::size_t bytes = checked_product("buffer", {size, sizeof(T)});
    if (bytes != 0) data_ = static_cast<T*>(::operator new (bytes, std::align_val_t{kAlignment}));
  }
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{kAlignment}); }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_, size_}; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace heed
