// What colours mean, in every renderer: blue is positive, red negative, around 0; weights run from
// white to green. Never colour alone: the number stands in the cell.
#pragma once

#include <cstdint>
#include <string>

#include "trace/document.h"

namespace heed::explain {

struct Rgb {
  std::uint8_t r = 255, g = 255, b = 255;
};

// The background of a cell; white for what is masked, left out, or not finite. Pale enough for
// black text to stay readable on it.
Rgb color_of(const Grid& grid, const Cell& cell);

std::string hex(Rgb color);  // "#d9e8f5"

// The colour of a matrix's name: Q blue, K orange, V green (Okabe-Ito); black for the others.
Rgb color_of_name(const std::string& id);

}  // namespace heed::explain
