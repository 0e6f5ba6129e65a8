#include "bench/harness/interruptions.h"

namespace heed::bench {

double interrupted_part(double seconds, double (*now)()) {
  constexpr double kGap = 1e-6;
  const double begin = now();
  double last = begin, lost = 0;
  while (last - begin < seconds) {
    const double next = now();
    if (next - last > kGap) lost += next - last;
    last = next;
  }
  return last > begin ? lost / (last - begin) : 0;
}

}  // namespace heed::bench
