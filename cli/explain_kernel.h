// The fast kernel run on a trace's Q, K and V, to stand beside the trace.
#pragma once

#include "heed/render.h"

namespace heed::cli {

// Every O of the trace in float by heed::attention, and how far it is from the trace's in ulps.
// Empty when the problem has no output to compare.
explain::KernelComparison run_kernel(const explain::Trace& trace);

}  // namespace heed::cli
