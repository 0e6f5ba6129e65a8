// Grids: matrices as they are shown, cell by cell.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "trace/document.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr std::size_t kShownHead = 10, kShownTail = 3;  // of what is longer than kMostShown

// A row or column that is shown, or a gap that stands for `left_out` of them.
struct Shown {
  std::size_t index = 0;
  std::size_t left_out = 0;  // 0: not a gap
};

// What is shown of n: all; or head, gap, tail, with `keep` in the middle where that lies in the
// gap.
std::vector<Shown> shown_of(std::size_t n, std::optional<std::size_t> keep) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < n; ++i) {
    if (n <= kMostShown || i < kShownHead || i >= n - kShownTail || i == keep)
      shown.push_back({i});
    else if (shown.back().left_out != 0)
      ++shown.back().left_out;
    else
      shown.push_back({i, 1});
  }
  return shown;
}

// One column fewer, where that is possible: of those that may go the last before the tail, and of
// the tail only when no other is left. It widens the gap beside it, or is a gap of its own.
bool drop_column(std::vector<Shown>& shown, std::optional<std::size_t> keep) {
  const auto is_gap = [&](std::size_t k) { return k < shown.size() && shown[k].left_out != 0; };
  std::size_t tail = shown.size() - 1;
  for (std::size_t k = shown.size(); k-- > 0;)
    if (is_gap(k)) {
      tail = k;
      break;
    }
  const auto may_go = [&](std::size_t k) { return !is_gap(k) && shown[k].index != keep; };
  std::optional<std::size_t> goes;
  for (std::size_t k = 1; k + 1 < shown.size(); ++k)
    if (may_go(k) && (k < tail || !goes)) goes = k;
  if (!goes) return false;
  std::size_t k = *goes;
  shown[k].left_out = 1;
  const auto merge = [&](std::size_t into) {
    shown[into].left_out += shown[into + 1].left_out;
    shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(into) + 1);
  };
  if (is_gap(k + 1)) merge(k);
  if (is_gap(k - 1)) merge(k - 1);
  return true;
}

std::vector<std::string> labels_of(const std::vector<std::string>& labels,
                                   const std::vector<Shown>& shown) {
  const std::vector<std::string> unique = unique_labels(labels);
  std::vector<std::string> result;
  for (const auto [i, gap] : shown)
    result.push_back(gap != 0 ? "…" : i < unique.size() ? unique[i] : std::to_string(i + 1));
  return result;
}

std::vector<std::size_t> gaps_of(const std::vector<Shown>& shown) {
  std::vector<std::size_t> gaps;
  for (const Shown& s : shown) gaps.push_back(s.left_out);
  return gaps;
}

std::optional<std::size_t> position_of(const std::vector<Shown>& shown,
                                       std::optional<std::size_t> index) {
  for (std::size_t k = 0; index && k < shown.size(); ++k)
    if (shown[k].left_out == 0 && shown[k].index == *index) return k;
  return {};
}

Cell gap_cell() {
  Cell cell;
  cell.kind = Cell::Kind::ellipsis;
  cell.text = "…";
  return cell;
}

}  // namespace

bool is_hidden(const Trace& trace, const Node& node, std::size_t i, std::size_t j) {
  if (node.id != "M" && node.id != "A") return false;
  return !hidden_by(trace, node.batch, i, j).empty();
}

std::size_t left_out(const std::vector<std::size_t>& gaps) {
  return std::accumulate(gaps.begin(), gaps.end(), std::size_t{0});
}

std::string name_of(const Grid& grid) {
  std::string name = grid.id;
  for (const char digit : grid.head == 0 ? std::string() : std::to_string(grid.head))
    name += std::string("₀₁₂₃₄₅₆₇₈₉").substr(3 * static_cast<std::size_t>(digit - '0'), 3);
  if (grid.transposed) name += "ᵀ";
  return name;
}

Grid make_grid(const Trace& trace, const Node& node, const RenderOptions& options, bool transposed,
               const Marks& marks) {
  Grid grid;
  grid.id = node.id;
  grid.transposed = transposed;
  grid.rows = transposed ? node.values.cols : node.values.rows;
  grid.cols = transposed ? node.values.rows : node.values.cols;
  grid.row_axis = transposed ? node.col_axis : node.row_axis;
  grid.col_axis = transposed ? node.row_axis : node.col_axis;
  const std::vector<Shown> rows = shown_of(grid.rows, marks.row);
  const std::vector<Shown> cols = shown_of(grid.cols, marks.col);
  grid.row_labels = labels_of(transposed ? node.col_labels : node.row_labels, rows);
  grid.col_labels = labels_of(transposed ? node.row_labels : node.col_labels, cols);
  grid.row_gaps = gaps_of(rows);
  grid.col_gaps = gaps_of(cols);
  grid.marked_row = position_of(rows, marks.row);
  grid.marked_col = position_of(cols, marks.col);
  grid.scale = node.id == "A" ? Grid::Scale::weights : Grid::Scale::diverging;

  const NumberStyle style = number_style(options);
  const NumberFormat number = choose_format(node.values.values, style);
  for (const auto [i, row_gap] : rows) {
    std::vector<Cell>& line = grid.cells.emplace_back();
    for (const auto [j, col_gap] : cols) {
      Cell& cell = line.emplace_back(gap_cell());
      if (row_gap != 0 || col_gap != 0) continue;
      cell.kind = Cell::Kind::number;
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

Grid make_table(const std::vector<std::string>& row_labels,
                const std::vector<std::string>& col_labels,
                const std::vector<std::vector<Cell>>& cells) {
  Grid table;
  table.rows = row_labels.size();
  table.cols = col_labels.size();
  const std::vector<Shown> rows = shown_of(table.rows, {}), cols = shown_of(table.cols, {});
  table.row_gaps = gaps_of(rows);
  table.col_gaps = gaps_of(cols);
  table.scale = Grid::Scale::none;
  for (const auto [i, gap] : rows) table.row_labels.push_back(gap != 0 ? "…" : row_labels[i]);
  for (const auto [j, gap] : cols) table.col_labels.push_back(gap != 0 ? "…" : col_labels[j]);
  for (const auto [i, row_gap] : rows) {
    std::vector<Cell>& line = table.cells.emplace_back();
    for (const auto [j, col_gap] : cols)
      line.push_back(row_gap != 0 || col_gap != 0 ? gap_cell() : cells[i][j]);
  }
  return table;
}

Grid narrowed(const Grid& grid, std::size_t columns) {
  std::vector<Shown> shown;
  for (std::size_t j = 0; j < grid.col_gaps.size(); ++j) shown.push_back({j, grid.col_gaps[j]});
  while (shown.size() > columns && drop_column(shown, grid.marked_col)) {
  }
  Grid result = grid;
  result.col_gaps = gaps_of(shown);
  result.marked_col = position_of(shown, grid.marked_col);
  result.col_labels.clear();
  for (const auto [j, gap] : shown)
    result.col_labels.push_back(gap != 0 ? "…" : grid.col_labels[j]);
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    result.cells[i].clear();
    for (const auto [j, gap] : shown)
      result.cells[i].push_back(gap != 0 ? gap_cell() : grid.cells[i][j]);
  }
  return result;
}

}  // namespace heed::explain
