// heed on one of the named shapes, prepared once and run many times.
#pragma once

#include <cstddef>

#include "bench/harness/inputs.h"
#include "heed/attention.h"

namespace heed::bench {

class HeedRun {
 public:
  // `output` has output_size(shape) elements and must outlive this.
  HeedRun(Problem problem, std::size_t threads, float* output);

  void run();

  ConstTensorView output() const { return output_; }
  std::size_t workspace_bytes() const { return plan_.info().workspace_bytes; }

 private:
  Problem problem_;
  std::size_t threads_;
  TensorView output_;
  Plan plan_;
};

}  // namespace heed::bench
