// For tests that something allocates nothing: counts every allocation of the program. To be
// included by one file of it. ThreadSanitizer brings operators of its own: nothing is counted then.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace heed::test {

inline std::atomic<std::size_t> allocations{0};

inline void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* p = nullptr;
  if (posix_memalign(&p, std::max(alignment, sizeof(void*)), std::max<std::size_t>(size, 1)) != 0)
    throw std::bad_alloc();
  return p;
}
}  // namespace heed::test

#ifndef HEED_THREAD_SANITIZER
void* operator new(std::size_t size) {
  return heed::test::counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return heed::test::counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
#endif
