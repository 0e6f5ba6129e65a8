// heed/numbers.h, and what renderers need besides to set numbers in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heed/numbers.h"

namespace heed::explain {

// The shortest text that reads back as the same double; "inf", "-inf", "nan". For machines.
std::string shortest(double value);

// "3×2"
std::string shape_text(std::size_t rows, std::size_t cols, bool ascii = false);

// Text padded so that decimal points stand below each other: returns cells of equal display width.
// What is no number stands at the right.
std::vector<std::string> align_decimals(const std::vector<std::string>& cells);

}  // namespace heed::explain
