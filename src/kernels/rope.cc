#include "kernels/rope.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope.cc"
#include "kernels/convert-inl.h"
#include "kernels/foreach_target.h"  // must come before the per-target code

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {
namespace {

using kernels::HeadRows;
using kernels::RowNorm;
using kernels::RowTurn;

float SumOfSquares(const float* row, std::size_t n) {
  V sum = hn::Zero(D());
  std::size_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    const V x = hn::LoadU(D(), row + c);
    sum = hn::MulAdd(x, x, sum);
  }
  if (c < n) {
    const V x = LoadSome(D(), row + c, n - c);
    sum = hn::MulAdd(x, x, sum);
  }
  return SumLanes(sum);
}

void NormRow(const RowNorm& norm, float* HWY_RESTRICT row, std::size_t n) {
  const float mean = SumOfSquares(row, n) / static_cast<float>(n);
  const float scale = 1.0f / std::sqrt(mean + norm.epsilon);
  for (std::size_t c = 0; c < n; ++c) row[c] = row[c] * scale * norm.weight[c];
}

// Plain loops from here on: compilers vectorise them for the target by themselves, and every target
// gives the same bits.
void TurnHalves(float* HWY_RESTRICT a, float* HWY_RESTRICT b, std::size_t pairs,
                const float* HWY_RESTRICT cosine, const float* HWY_RESTRICT sine) {
  for (std::size_t c = 0; c < pairs; ++c) {
    const float x = a[c], y = b[c];
    a[c] = x * cosine[c] - y * sine[c];
    b[c] = y * cosine[c] + x * sine[c];
  }
}

void TurnNeighbours(float* HWY_RESTRICT row, std::size_t pairs, const float* HWY_RESTRICT cosine,
                    const float* HWY_RESTRICT sine) {
  for (std::size_t c = 0; c < pairs; ++c) {
    const float x = row[2 * c], y = row[2 * c + 1];
    row[2 * c] = x * cosine[c] - y * sine[c];
    row[2 * c + 1] = y * cosine[c] + x * sine[c];
  }
}

void FinishToken(const HeadRows& rows, const RowNorm& norm, const RowTurn& turn,
                 std::size_t token) {
  float* row = rows.data + static_cast<std::ptrdiff_t>(token) * rows.token_stride;
  const std::size_t pairs = turn.dims / 2;
  const float* cosine = turn.dims == 0 ? nullptr : turn.cos_sin + token % turn.period * turn.dims;
  const float* sine = cosine + pairs;
  for (std::size_t h = 0; h < rows.heads; ++h, row += rows.dim) {
    if (norm.weight != nullptr) NormRow(norm, row, rows.dim);
    if (turn.dims == 0) continue;
    if (turn.pairs == RotaryPairs::half_split)
      TurnHalves(row, row + pairs, pairs, cosine, sine);
    else
      TurnNeighbours(row, pairs, cosine, sine);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(FinishToken);

namespace kernels {
namespace {
constexpr std::size_t kNumbersPerTask = 1 << 14;  // some microseconds
}

void finish_rows(Target target, const HeadRows& rows, const RowNorm& norm, const RowTurn& turn,
                 std::size_t threads) {
  const auto finish = HEED_FUNCTION(FinishToken, target);
  const std::size_t step = std::max<std::size_t>(1, kNumbersPerTask / (rows.heads * rows.dim));
  parallel_for((rows.tokens + step - 1) / step, threads, [&](std::size_t task, std::size_t) {
    for (std::size_t t = task * step; t < std::min(rows.tokens, (task + 1) * step); ++t)
      finish(rows, norm, turn, t);
    return true;
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
