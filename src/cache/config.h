// Checks that both caches make: of their sizes, and of what is appended.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/checks.h"
#include "base/problem.h"
#include "cache/row_storage.h"

namespace heed::cache {

// Throws unless the value of a field is at least 1.
void require_positive(std::string_view cache, std::string_view field, std::size_t value);

// Throws unless a cache can store this dtype.
void require_storable(std::string_view cache, DType dtype);

// Throws unless k and v are [batch, kv_heads, n, dim] of an n of their own and the dims of these
// rows, f32, f16 or bf16, and not in the memory of these rows, which may move.
void require_appendable(ConstTensorView k, ConstTensorView v, std::size_t batch,
                        const RowStorage& keys, const RowStorage& values);

}  // namespace heed::cache
