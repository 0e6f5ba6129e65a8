// Rows of queries or keys between projection and attention, in place: RMS norm, rotary positions.
#pragma once

#include <cstddef>

#include "heed/rotary.h"
#include "kernels/targets.h"

namespace heed::kernels {

// Row of head h of token t at data + t * token_stride + h * dim. [tokens, heads, dim]
struct HeadRows {
  float* data = nullptr;
  std::size_t tokens = 0, heads = 0, dim = 0;
  std::ptrdiff_t token_stride = 0;
};

// row <- row / sqrt(mean(row^2) + epsilon) * weight
struct RowNorm {
  const float* weight = nullptr;  // [dim]; null: no norm
  float epsilon = 0;
};

// The pairs of a row's first `dims` numbers turn by the angles of its token.
struct RowTurn {
  const float* cos_sin = nullptr;  // [period][cos of dims / 2 pairs, then their sin]
  std::size_t period = 0;          // token t turns by row t % period
  std::size_t dims = 0;            // even, <= dim; 0: no turn
  RotaryPairs pairs = RotaryPairs::half_split;
};

void finish_rows(Target target, const HeadRows& rows, const RowNorm& norm, const RowTurn& turn,
                 std::size_t threads);

}  // namespace heed::kernels
