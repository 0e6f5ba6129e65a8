// A competitor written in C++: one file each. All of them, heed included, are asked the same
// question: one of the named shapes, with the same inputs and the same number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bench/harness/inputs.h"

namespace heed::bench {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual void run() = 0;
};

// A competitor ready to run a problem, its answer going to `output` (output_size(shape) elements).
// Null where it has no way to compute that shape. The problem must outlive it.
using MakePeer = std::unique_ptr<Peer> (*)(const Problem& problem, std::size_t threads,
                                           float* output);

struct Competitor {
  std::string name;     // as it is called on the command line
  std::string variant;  // the one way it computes attention
  std::string (*version)();
  MakePeer make;
};

Competitor heed_competitor();
Competitor openblas_competitor();
Competitor eigen_competitor();

}  // namespace heed::bench
