// Grids as blocks of text, and blocks set side by side or below each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/document.h"

namespace heed::explain {

struct TextStyle {
  std::size_t width = 80;  // of the page
  bool color = false, ascii = false;

  // Heed's own symbols as this style writes them.
  std::string operator()(std::string_view text) const;
};

// Lines that all are `width` columns wide (colour escapes do not count).
struct TextBlock {
  std::vector<std::string> lines;
  std::size_t width = 0;
};

// The name and what its axes count, the column labels, the rows between bars.
TextBlock grid_block(const Grid& grid, const TextStyle& style);

// A × B = C in one row of blocks where that fits the page, else one below the other.
std::vector<std::string> equation_lines(const Equation& equation, const TextStyle& style);

// Text broken at spaces into lines of at most `width` columns.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace heed::explain
