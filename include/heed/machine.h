// The machine's own limits, measured: the yardsticks that heed's speed is told in.
//
// Thread safety: any thread may call these; what else runs on the machine meanwhile shows in them.
#pragma once

#include <cstddef>
#include <span>

namespace heed {

// Threads a run can share: those of the current oneTBB arena, 1 in a build without oneTBB.
std::size_t available_threads();

// f32 multiply-adds on registers alone, two flops each, by `threads` threads at once with the
// current instruction set (attention.h). Flop/s, the best of as many tries of about `length`
// seconds as fit in `seconds`: the shorter, the less a busy machine shows, down to what waking
// threads costs.
double measure_fma_peak(std::size_t threads, double seconds, double length = 0.002);

// Bytes per second of plainly reading `memory` once, a piece of equal size for each thread; and of
// a piece as many parts side by side as there are `places`, which many memories serve faster.
double measure_read_bandwidth(std::span<const std::byte> memory, std::size_t threads,
                              std::size_t places = 1);

}  // namespace heed
