#include "layer/turns.h"

#include <algorithm>
#include <cmath>

#include "base/checks.h"
#include "base/threads.h"

namespace heed {

TurnTable::TurnTable(std::size_t rows, std::span<const double> frequencies)
    : frequencies_(frequencies),
      table_(checked_product("layer: turns", {rows, 2, frequencies.size()})) {
  if (!frequencies.empty()) positions_.reserve(rows);
}

std::size_t TurnTable::bytes() const {
  return table_.size() * sizeof(float) + positions_.capacity() * sizeof(std::int64_t);
}

void TurnTable::place(std::span<const std::int64_t> positions, std::size_t threads) {
  constexpr std::size_t kRowsPerTask = 16;  // a row of 32 pairs takes about a microsecond
  const std::size_t filled = positions_.size(), rows = positions.size();
  if (filled >= rows && std::equal(positions.begin(), positions.end(), positions_.begin())) return;
  positions_.resize(std::max(filled, rows));
  parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, threads,
               [&](std::size_t task, std::size_t) {
                 const std::size_t begin = task * kRowsPerTask;
                 for (std::size_t t = begin; t < std::min(rows, begin + kRowsPerTask); ++t)
                   if (t >= filled || positions_[t] != positions[t]) {
                     positions_[t] = positions[t];
                     fill(t);
                   }
                 return true;
               });
}

// The angle is computed in double: in float, a position of 10^5 would lose three decimals of it.
void TurnTable::fill(std::size_t row) {
  const std::size_t pairs = frequencies_.size();
  float* cosine = table_.data() + row * 2 * pairs;
  const auto position = static_cast<double>(positions_[row]);
  for (std::size_t c = 0; c < pairs; ++c) {
    const double angle = position * frequencies_[c];
    cosine[c] = static_cast<float>(std::cos(angle));
    cosine[pairs + c] = static_cast<float>(std::sin(angle));
  }
}

}  // namespace heed
