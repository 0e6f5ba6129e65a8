// Solved problems and their matrices as the page shows them.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/json.h"
#include "engine/session.h"

namespace heed::web {

// Matrices up to this many entries are sent whole; of larger ones the page asks for windows.
inline constexpr std::size_t kMostSent = 1024;

Solved solve(explain::Problem problem, const explain::NumberStyle& style);

// Sizes, steps, every matrix; with `echo` also the problem itself, where it is small enough to be
// edited, as a page that has only its text needs it.
Json solved_json(const Solved& solved, bool echo);

// A rectangle of a node, cut to what there is.
Json window_json(const Solved& solved, const explain::Node& node, std::size_t row, std::size_t col,
                 std::size_t rows, std::size_t cols);

// How a matrix on its own is shown.
struct CellOptions {
  explain::NumberStyle style = {};
  double bound = 0;               // shades are relative to it; 0: to the largest magnitude
  std::size_t row = 0, col = 0;   // of its first entry
  std::vector<bool> hidden = {};  // entries shown as masked weights; empty: none
};
Json cells_json(const explain::Matrix& values, const CellOptions& options);

// The largest finite magnitude.
double bound_of(const explain::Matrix& values);

// a - b, entry by entry; throws naming both shapes when they differ.
Json difference_json(const Solved& a, const explain::Node& node_a, const Solved& b,
                     const explain::Node& node_b);

}  // namespace heed::web
