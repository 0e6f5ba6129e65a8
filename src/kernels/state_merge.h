// The merge of two attention states for any base of the exponential: natural in heed/state.h, 2 in
// the kernels. Everything that joins parts of a softmax ends here.
#pragma once

#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

#include "heed/state.h"

namespace heed::kernels {

// What two parts weigh once both are seen from the larger of their maxima m_a and m_b (or their
// logsumexps).
struct Weights {
  float m = 0;
  float a = 0, b = 0;
};

// `exp` maps m_part - m to the weight of that part. Neither part is empty.
template <class Exp>
Weights weigh(float m_a, float m_b, Exp exp) {
  const float m = m_b > m_a || std::isnan(m_b) ? m_b : m_a;
  return {m, m == m_a ? 1.0f : exp(m_a - m), m == m_b ? 1.0f : exp(m_b - m)};
}

inline bool is_empty(float m) {
  return m == -std::numeric_limits<float>::infinity();
}

// into <- the state of both.
template <class Exp>
void merge_as(AttentionState& into, const AttentionState& other, Exp exp) {
  assert(into.o.size() == other.o.size());
  if (is_empty(other.m)) return;
  const std::size_t n = into.o.size();
  float* o = into.o.data();
  const float* o_other = other.o.data();
  if (is_empty(into.m)) {
    for (std::size_t c = 0; c < n; ++c) o[c] = o_other[c];
    into.m = other.m;
    into.l = other.l;
    return;
  }
  const Weights w = weigh(into.m, other.m, exp);
  for (std::size_t c = 0; c < n; ++c) o[c] = o[c] * w.a + o_other[c] * w.b;
  into.l = into.l * w.a + other.l * w.b;
  into.m = w.m;
}

}  // namespace heed::kernels
