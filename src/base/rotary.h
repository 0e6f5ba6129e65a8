// The checks of QK-norm and RoPE, and where tokens stand: what the reference and the layer share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/problem.h"
#include "heed/rotary.h"

namespace heed {

// Throws unless the norm's weights have head_dim values of a float dtype, or are none.
void require_norm(const QkNorm& norm, std::size_t head_dim);

// Throws unless rows of head_dim numbers can turn so; returns how many of them do.
std::size_t turning_dims(const Rotary& rotary, std::size_t head_dim);

// Query i of a sequence stands at i + offset, key j at j. `positions` is [batch * tokens], token by
// token as in q or k; tokens that belong to no sequence are left alone.
void place_queries(const Problem& problem, std::size_t tokens, std::span<std::int64_t> positions);
void place_keys(const Problem& problem, std::size_t tokens, std::span<std::int64_t> positions);

}  // namespace heed
