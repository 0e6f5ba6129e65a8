// heed run on query, key and value.
#pragma once

#include "cli/run.h"
#include "cli/run_inputs.h"

namespace heed::cli {

void run_attention(const RunOptions& flags);

// Views with the dtype of the kernels, for heed::Plan, which reads no data: f64 problems are held
// to the same rules.
struct PlannedViews {
  ConstTensorView q, k, v;
};
PlannedViews planned_views(const AttentionInputs& inputs);

// --plan: what would run.
void print_plan(const RunOptions& flags, const AttentionInputs& inputs);

}  // namespace heed::cli
