// Grids: matrices as they are shown, cell by cell.
#include <algorithm>
#include <cmath>
#include <limits>

#include "trace/document.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr std::size_t kShownHead = 10, kShownTail = 3;  // of what is longer than kMostShown

// Indices that are shown of n: all, or head, kLeftOut, tail.
constexpr std::size_t kLeftOut = std::numeric_limits<std::size_t>::max();
std::vector<std::size_t> shown_of(std::size_t n) {
  std::vector<std::size_t> shown;
  if (n <= kMostShown) {
    for (std::size_t i = 0; i < n; ++i) shown.push_back(i);
    return shown;
  }
  for (std::size_t i = 0; i < kShownHead; ++i) shown.push_back(i);
  shown.push_back(kLeftOut);
  for (std::size_t i = n - kShownTail; i < n; ++i) shown.push_back(i);
  return shown;
}

std::vector<std::string> labels_of(const std::vector<std::string>& labels,
                                   const std::vector<std::size_t>& shown) {
  const std::vector<std::string> unique = unique_labels(labels);
  std::vector<std::string> result;
  for (const std::size_t i : shown)
    result.push_back(i == kLeftOut ? "…" : i < unique.size() ? unique[i] : std::to_string(i + 1));
  return result;
}

std::optional<std::size_t> position_of(const std::vector<std::size_t>& shown, std::size_t index) {
  const auto found = std::find(shown.begin(), shown.end(), index);
  if (found == shown.end()) return {};
  return static_cast<std::size_t>(found - shown.begin());
}

}  // namespace

bool is_hidden(const Trace& trace, const Node& node, std::size_t i, std::size_t j) {
  if (node.id != "M" && node.id != "A") return false;
  return !hidden_by(trace, node.batch, i, j).empty();
}

std::optional<std::size_t> shown_at(std::size_t size, std::size_t index) {
  return position_of(shown_of(size), index);
}

std::string name_of(const Grid& grid) {
  std::string name = grid.id;
  for (const char digit : grid.head == 0 ? std::string() : std::to_string(grid.head))
    name += std::string("₀₁₂₃₄₅₆₇₈₉").substr(3 * static_cast<std::size_t>(digit - '0'), 3);
  if (grid.transposed) name += "ᵀ";
  return name;
}

Grid make_grid(const Trace& trace, const Node& node, const RenderOptions& options,
               bool transposed) {
  Grid grid;
  grid.id = node.id;
  grid.transposed = transposed;
  grid.rows = transposed ? node.values.cols : node.values.rows;
  grid.cols = transposed ? node.values.rows : node.values.cols;
  grid.row_axis = transposed ? node.col_axis : node.row_axis;
  grid.col_axis = transposed ? node.row_axis : node.col_axis;
  const std::vector<std::size_t> rows = shown_of(grid.rows), cols = shown_of(grid.cols);
  grid.row_labels = labels_of(transposed ? node.col_labels : node.row_labels, rows);
  grid.col_labels = labels_of(transposed ? node.row_labels : node.col_labels, cols);
  grid.elided_row = position_of(rows, kLeftOut);
  grid.elided_col = position_of(cols, kLeftOut);
  if (grid.elided_row) grid.rows_left_out = grid.rows - (rows.size() - 1);
  if (grid.elided_col) grid.cols_left_out = grid.cols - (cols.size() - 1);
  grid.scale = node.id == "A" ? Grid::Scale::weights : Grid::Scale::diverging;

  const NumberStyle style = number_style(options);
  const NumberFormat number = choose_format(node.values.values, style);
  for (const std::size_t i : rows) {
    std::vector<Cell>& line = grid.cells.emplace_back();
    for (const std::size_t j : cols) {
      Cell& cell = line.emplace_back();
      if (i == kLeftOut || j == kLeftOut) {
        cell.kind = Cell::Kind::ellipsis;
        cell.text = "…";
        continue;
      }
      const std::size_t row = transposed ? j : i, col = transposed ? i : j;
      cell.value = node.values(row, col);
      if (is_hidden(trace, node, row, col)) {
        cell.kind = Cell::Kind::masked;
        cell.text = node.id == "A" ? masked_weight(style.ascii) : masked_score(style.ascii);
      } else {
        cell.text = format(cell.value, number);
      }
    }
  }
  for (const double value : node.values.values)
    if (std::isfinite(value)) grid.bound = std::max(grid.bound, std::abs(value));
  return grid;
}

Grid narrowed(const Grid& grid, std::size_t columns) {
  const std::size_t shown = grid.col_labels.size();
  if (shown <= columns) return grid;
  Grid result = grid;
  // Where the gap is, or opens: columns left of it are dropped until the rest fits.
  const bool has_gap = grid.elided_col.has_value();
  const std::size_t gap = has_gap ? *grid.elided_col : shown - 1;
  const std::size_t drop = shown - columns + (has_gap ? 0 : 1);
  if (drop > gap || columns < 3) return grid;
  const std::size_t first = gap - drop;
  const auto cut = [&](auto& line, auto filler) {
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(first),
               line.begin() + static_cast<std::ptrdiff_t>(gap));
    if (!has_gap) line.insert(line.begin() + static_cast<std::ptrdiff_t>(first), filler);
  };
  cut(result.col_labels, std::string("…"));
  Cell filler;
  filler.kind = Cell::Kind::ellipsis;
  filler.text = "…";
  for (std::vector<Cell>& line : result.cells) cut(line, filler);
  result.elided_col = first;
  result.cols_left_out = grid.cols_left_out + drop;
  if (result.marked_col && *result.marked_col >= first)
    result.marked_col = *result.marked_col < gap ? std::optional<std::size_t>()
                                                 : *result.marked_col - drop + (has_gap ? 0 : 1);
  return result;
}

}  // namespace heed::explain
