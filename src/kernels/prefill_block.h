// What one prefill task is told; see prefill.h.
#pragma once

#include <cstddef>

#include "kernels/prefill.h"

namespace heed::kernels {

struct PrefillGeometry {
  std::size_t panel, strip, lanes;
};

struct PrefillBlock {
  const Run* run = nullptr;
  const ScoreRules* rules = nullptr;
  const PrefillShape* shape = nullptr;
  std::size_t sequence = 0, kv_head = 0;
  std::size_t first_query = 0, queries = 0;
  double pairs = 0;  // as in PrefillItem
  Crew* crew = nullptr;
  float* workspace = nullptr;
  const PrefillBlock* next = nullptr;  // what this thread does afterwards, or null
};

}  // namespace heed::kernels
