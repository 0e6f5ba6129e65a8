#include "bench/harness/interruptions.h"

#include "bench/harness/pieces.h"

namespace heed::bench {

double interrupted_part(double seconds) {
  constexpr double kGap = 1e-6;
  const double begin = seconds_now();
  double last = begin, lost = 0;
  while (last - begin < seconds) {
    const double now = seconds_now();
    if (now - last > kGap) lost += now - last;
    last = now;
  }
  return last > begin ? lost / (last - begin) : 0;
}

}  // namespace heed::bench
