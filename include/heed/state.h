// The attention state: what a softmax over part of the keys leaves behind, so that parts can be
// combined in any order into the attention over all of them.
//
// For one row and a set of keys J: m >= max_J s_j,  l = sum_J exp(s_j - m),  o = sum_J exp(s_j - m)
// v_j. merge() is associative and commutative (up to rounding), empty() is its unit; normalise()
// ends it. Split decode, shared prefixes and ring attention are all this algebra.
#pragma once

#include <cmath>
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

// into <- the state of both sets of keys. Same length of o.
void merge(AttentionState& into, const AttentionState& other);

// o <- o / l (0 for the empty state); returns lse = m + log(l), -infinity for the empty state.
float normalise(AttentionState& state);

// The same algebra on finished results: outputs o [batch, heads, tokens, dim] (f32, f16, bf16) with
// their logsumexp, computed over disjoint keys, become the output over all of the keys.
// `out` may be `a` or `b` themselves; `lse` is optional.
void merge_states(ConstTensorView a, RowView lse_a, ConstTensorView b, RowView lse_b,
                  TensorView out, RowView lse = {});

}  // namespace heed
