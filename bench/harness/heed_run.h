// heed on one of the named shapes, prepared once and run many times.
#pragma once

#include <cstddef>
#include <optional>

#include "bench/harness/inputs.h"
#include "heed/attention.h"
#include "heed/layer.h"

namespace heed::bench {

class HeedRun {
 public:
  // `output` has output_size(shape) elements and must outlive this.
  HeedRun(Problem problem, std::size_t threads, float* output);

  void run();

  ConstTensorView output() const { return output_; }
  std::size_t workspace_bytes() const;

 private:
  Problem problem_;
  std::size_t threads_;
  TensorView output_;
  std::optional<Plan> plan_;  // one of the three
  std::optional<LayerPlan> layer_plan_;
  std::optional<PlanInfo> cache_plan_;  // of a call that plans anew each time
};

}  // namespace heed::bench
