// The cosines and sines by which rows at given positions turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"

namespace heed {

class TurnTable {
 public:
  TurnTable() = default;
  // For up to `rows` positions. `frequencies` must outlive the table.
  TurnTable(std::size_t rows, std::span<const double> frequencies);

  // Row t is for positions[t] from here on: [cos of every pair, then sin of every pair]. Rows that
  // already are stay as they are, so that a repeated run computes none.
  void place(std::span<const std::int64_t> positions, std::size_t threads);

  const float* data() const { return table_.data(); }
  std::span<const std::int64_t> positions() const { return positions_; }
  std::size_t bytes() const;

 private:
  void fill(std::size_t row);

  std::span<const double> frequencies_;
  std::vector<std::int64_t> positions_;  // of the rows that are filled
  AlignedBuffer<float> table_;
};

}  // namespace heed
