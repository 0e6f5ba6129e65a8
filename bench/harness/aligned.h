// AlignedVector: a std::vector that starts on a cache line, as tensors of other libraries do.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace heed::bench {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  friend bool operator==(AlignedAllocator, AlignedAllocator) { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace heed::bench
