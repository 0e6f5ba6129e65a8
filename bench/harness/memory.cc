#include "bench/harness/memory.h"

#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace heed::bench {
namespace {

// A line "VmRSS:   1234 kB" of /proc/self/status, in bytes.
std::optional<std::size_t> status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == key && status >> kilobytes) return kilobytes * 1024;
  }
  return {};
}

// Sets the peak that the kernel remembers back to what is resident now.
bool reset_peak() {
  std::ofstream clear("/proc/self/clear_refs");
  return static_cast<bool>(clear << "5" << std::flush);
}

// Memory that was freed but kept by the allocator would be used again without being seen.
void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace

std::optional<std::size_t> peak_growth(const std::function<void()>& work) {
  return_freed_memory();
  const bool can_reset = reset_peak();
  const auto before = status_bytes("VmRSS:");
  work();
  const auto peak = status_bytes("VmHWM:");
  if (!can_reset || !before || !peak) return {};
  return *peak > *before ? *peak - *before : 0;
}

}  // namespace heed::bench
