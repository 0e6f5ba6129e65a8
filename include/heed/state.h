// The attention state: what a softmax over part of the keys leaves behind, so that parts can be
// combined in any order into the attention over all of them.
//
// For one row and a set of visible keys J:
//   m >= max_J s_j,   l = sum_J exp(s_j - m),   o = sum_J exp(s_j - m) v_j
// merge() is associative and commutative (up to rounding), the empty state is its unit, and
// normalise() ends it. Split decode, shared prefixes and ring attention are all this algebra.
//
// m = -infinity says that J is empty, and nothing else does: of an empty state l and o are not
// read. Keys that are visible but all score -infinity leave m = the lowest finite float and l = 0:
// beside finite scores they weigh nothing, alone they normalise to NaN. NaN stays NaN throughout.
//
//   AttentionState left = {.o = o_left, .m = m_left, .l = l_left}, right = {...};
//   merge(left, right);
//   float lse = normalise(left);  // left.o is the attention over the keys of both
//
// Thread safety: functions of their arguments alone.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "heed/error.h"
#include "heed/view.h"

namespace heed {

// One row's state; o has d_v values and belongs to the caller.
struct AttentionState {
  std::span<float> o = {};
  float m = -std::numeric_limits<float>::infinity();
  float l = 0.0f;
};

// The state of no keys.
void make_empty(AttentionState& state);

// into <- the state of both sets of keys, which must be disjoint. heed::Error unless both have the
// same length of o. merge(a, b) and merge(b, a) leave the same bits.
void merge(AttentionState& into, const AttentionState& other);

// o <- o / l (0 for the empty state); returns lse = m + log(l), -infinity for the empty state.
float normalise(AttentionState& state);

// The same algebra on finished results: outputs a and b [batch, heads, tokens, dim] over disjoint
// keys, with their logsumexp, become the output over all of the keys. a, b and out have one dtype
// (f32, f16 or bf16) and one shape; out may be a or b itself, and lse (optional) lse_a or lse_b.
// A row whose lse is -infinity saw no key and counts for nothing.
void merge_states(ConstTensorView a, RowView lse_a, ConstTensorView b, RowView lse_b,
                  TensorView out, RowView lse = {});

}  // namespace heed
