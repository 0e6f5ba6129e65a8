// The time a run would take, from the speed of a small one.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/units.h"

namespace heed::cli {

// Flop/s of running `work` again and again for a moment, after once to warm up.
template <class F>
double measure(double flops, F&& work) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kMoment = std::chrono::milliseconds(50);
  work();
  const auto begin = Clock::now();
  std::size_t runs = 0;
  do {
    work();
    ++runs;
  } while (Clock::now() - begin < kMoment);
  return flops * static_cast<double>(runs) /
         std::chrono::duration<double>(Clock::now() - begin).count();
}

inline std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.0f} min", seconds / 60);
}

// The last line of --plan; without work the speed is not looked at.
inline std::string time_line(double work, double speed) {
  if (work == 0) return "time      none: no query sees a key\n";
  return fmt::format("time      about {} at {}, measured on a small problem of this kind\n",
                     duration(work / speed), with_prefix(speed, "flop/s"));
}

}  // namespace heed::cli
