// Pieces of a run, each at the fastest it has been: how long the run would take if it were never
// interrupted.
//
// On a shared machine every run of more than a millisecond is interrupted, and the longer it is,
// the further even the best of many runs is from what the code can do. A few tenths of a
// millisecond are often left alone. So a run is cut where it tells of its progress, and each piece
// counts with its best time over all runs. That needs runs to do the same work in the same order:
// one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/harness/turns.h"
#include "heed/options.h"

namespace heed::bench {

class Pieces {
 public:
  explicit Pieces(double (*now)() = seconds_now) : now_(now) {}

  Progress progress();  // for the run to tell
  void begin();         // before every run
  void end();           // after every run; what is left since the last word is a piece too

  double seconds() const;  // all pieces at their fastest
  std::size_t count() const { return fastest_.size(); }

 private:
  void cut();

  double (*now_)();
  double last_ = 0;
  std::size_t next_ = 0;
  std::vector<double> fastest_;
};

}  // namespace heed::bench
