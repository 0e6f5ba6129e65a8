#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/machine.cc"
#include <cstddef>
#include <cstdint>

#include "kernels/foreach_target.h"  // must come first
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// x <- x * a + b in each accumulator, `steps` times: as many accumulators as the micro-kernels
// have, more than latency times issue width on the machines the targets stand for. The caller makes
// x converge (|a| < 1), so that no number ever overflows or becomes denormal.
float FmaLoop(std::size_t steps, float a, float b) {
  const V va = hn::Set(D(), a), vb = hn::Set(D(), b);
  V acc[kStripRows][kPanelVectors];  // no two alike, or a compiler may compute them once
  HEED_UNROLL
  for (std::size_t r = 0; r < kStripRows; ++r) {
    HEED_UNROLL
    for (std::size_t c = 0; c < kPanelVectors; ++c)
      acc[r][c] = hn::Set(D(), b * static_cast<float>(r * kPanelVectors + c));
  }
  for (std::size_t n = 0; n < steps; ++n) {
    HEED_UNROLL
    for (std::size_t r = 0; r < kStripRows; ++r) {
      HEED_UNROLL
      for (std::size_t c = 0; c < kPanelVectors; ++c) acc[r][c] = hn::MulAdd(acc[r][c], va, vb);
    }
  }
  V sum = hn::Zero(D());
  HEED_UNROLL
  for (std::size_t r = 0; r < kStripRows; ++r) {
    HEED_UNROLL
    for (std::size_t c = 0; c < kPanelVectors; ++c) sum = hn::Add(sum, acc[r][c]);
  }
  return SumLanes(sum);
}

std::size_t FlopsPerStep() {
  return 2 * kStripRows * kPanelVectors * kLanes;
}

// Loads every one of `count` words, in `places` parts side by side.
std::int32_t ReadLoop(const std::int32_t* HWY_RESTRICT words, std::size_t count,
                      std::size_t places) {
  constexpr std::size_t kVectors = 8, kStep = kVectors * kLanes;
  const DI di;
  hn::Vec<DI> acc[kVectors];
  HEED_UNROLL
  for (std::size_t r = 0; r < kVectors; ++r) acc[r] = hn::Zero(di);
  const std::size_t part = count / places / kStep * kStep;
  for (std::size_t n = 0; n < part; n += kStep)
    for (std::size_t place = 0; place < places; ++place) {
      HEED_UNROLL
      for (std::size_t r = 0; r < kVectors; ++r)
        acc[r] = hn::Or(acc[r], hn::LoadU(di, words + place * part + n + r * kLanes));
    }
  std::int32_t bits = 0;
  for (std::size_t n = places * part; n < count; ++n) bits |= words[n];
  for (std::size_t r = 1; r < kVectors; ++r) acc[0] = hn::Or(acc[0], acc[r]);
  return bits | hn::GetLane(acc[0]);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>

#include "base/checks.h"
#include "base/threads.h"
#include "heed/machine.h"

namespace heed {
namespace {

HWY_EXPORT(FmaLoop);
HWY_EXPORT(FlopsPerStep);
HWY_EXPORT(ReadLoop);

template <class F>
double seconds_of(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::size_t available_threads() {
  return thread_count(0);
}

double measure_fma_peak(std::size_t threads, double seconds, double length) {
  require(threads > 0, "measure_fma_peak: threads is 0");
  require(length > 0 && length <= 1, "measure_fma_peak: length is ", length,
          " seconds, expected more than 0 and at most 1");
  const kernels::Target target = kernels::chosen_target();
  const auto loop = HEED_FUNCTION(FmaLoop, target);
  constexpr double kStepsPerSecond = 5e8;  // of a processor with 3 GHz
  const std::size_t steps = 1 + static_cast<std::size_t>(length * kStepsPerSecond);
  const double flops = static_cast<double>(threads * steps * HEED_FUNCTION(FlopsPerStep, target)());
  double shortest = 0, used = 0;
  do {
    const double took = seconds_of([&] {
      parallel_for(threads, threads, [&](std::size_t, std::size_t) {
        volatile float sink = loop(steps, 0.5f, 1.0f);
        static_cast<void>(sink);
        return true;
      });
    });
    shortest = used == 0 ? took : std::min(shortest, took);
    used += took;
  } while (used < seconds);
  return flops / shortest;
}

double measure_read_bandwidth(std::span<const std::byte> memory, std::size_t threads,
                              std::size_t places) {
  require(threads > 0, "measure_read_bandwidth: threads is 0");
  require(places > 0, "measure_read_bandwidth: places is 0");
  constexpr std::size_t kLine = 64;
  const auto loop = HEED_FUNCTION(ReadLoop, kernels::chosen_target());
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  require(address % sizeof(std::int32_t) == 0 && memory.size() >= threads * kLine,
          "measure_read_bandwidth: needs a cache line of aligned memory for each of ", threads,
          " threads but got ", memory.size(), " bytes");
  const auto* words = reinterpret_cast<const std::int32_t*>(memory.data());
  const std::size_t piece = memory.size() / threads / kLine * kLine / sizeof(std::int32_t);
  const double took = seconds_of([&] {
    parallel_for(threads, threads, [&](std::size_t index, std::size_t) {
      volatile std::int32_t sink = loop(words + index * piece, piece, places);
      static_cast<void>(sink);
      return true;
    });
  });
  return static_cast<double>(threads * piece * sizeof(std::int32_t)) / took;
}

}  // namespace heed
#endif  // HWY_ONCE
