// How much of its time a thread does not get: to the system, to other programs, or to other
// machines on the same processor.
#pragma once

#include "bench/harness/turns.h"

namespace heed::bench {

// Reads the clock for so many seconds; the part of that time that passed in gaps of over 1 us.
double interrupted_part(double seconds, double (*now)() = seconds_now);

}  // namespace heed::bench
