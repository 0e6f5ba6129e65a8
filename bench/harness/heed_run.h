// heed on one of the named shapes, prepared once and run many times.
#pragma once

#include <cstddef>
#include <optional>

#include "bench/harness/inputs.h"
#include "bench/harness/pieces.h"
#include "heed/attention.h"
#include "heed/layer.h"

namespace heed::bench {

class HeedRun {
 public:
  // `output` has output_size(shape) elements and must outlive this, as must `pieces`, which is told
  // of every run if given: for attention without a cache on one thread.
  HeedRun(Problem problem, std::size_t threads, float* output, Pieces* pieces = nullptr);

  void run();

  ConstTensorView output() const { return output_; }
  std::size_t workspace_bytes() const;

 private:
  void run_once();

  Problem problem_;
  std::size_t threads_;
  Pieces* pieces_;
  TensorView output_;
  std::optional<Plan> plan_;  // one of the three
  std::optional<LayerPlan> layer_plan_;
  std::optional<PlanInfo> cache_plan_;  // of a call that plans anew each time
};

}  // namespace heed::bench
