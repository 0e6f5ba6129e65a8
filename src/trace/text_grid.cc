#include "trace/text_grid.h"

#include <algorithm>
#include <span>
#include <utility>

#include "trace/color.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kWidestRowLabel = 16, kWidestColumnLabel = 12;
constexpr std::size_t kHeaderLines = 2;  // name and axes; column labels

// The nearest of the 216 colours that every terminal with colours has.
std::string background(Rgb color) {
  const auto level = [](std::uint8_t part) { return (part * 5 + 127) / 255; };
  const int index = 16 + 36 * level(color.r) + 6 * level(color.g) + level(color.b);
  return "\x1b[38;5;16;48;5;" + std::to_string(index) + "m";
}

std::string row_label(const Grid& grid, std::size_t i, const TextStyle& style) {
  if (grid.row_gaps[i] != 0) return style("… " + with_commas(grid.row_gaps[i]) + " more");
  const std::string label = fit(style(grid.row_labels[i]), kWidestRowLabel, style.ascii);
  return grid.marked_row == i ? style("▸ ") + label : label;
}

std::string column_label(const Grid& grid, std::size_t j, const TextStyle& style) {
  if (grid.col_gaps[j] != 0) return style("… " + with_commas(grid.col_gaps[j]) + " more");
  const std::string label = fit(style(grid.col_labels[j]), kWidestColumnLabel, style.ascii);
  return grid.marked_col == j ? style("▾ ") + label : label;
}

// One column: its label and its cells, all of one width.
struct Column {
  std::string label;
  std::vector<std::string> cells;
};

Column column_of(const Grid& grid, std::size_t j, const TextStyle& style) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    const Cell& cell = grid.cells[i][j];
    const bool blank = grid.row_gaps[i] != 0;  // the row label says it
    texts.push_back(blank ? "" : cell.kind == Cell::Kind::ellipsis ? style("…") : cell.text);
  }
  Column column;
  column.label = column_label(grid, j, style);
  column.cells = align_decimals(texts);
  const std::size_t width = std::max(display_width(column.label), display_width(column.cells[0]));
  const bool centred = grid.col_gaps[j] != 0;
  column.label = centred ? pad_both(column.label, width) : pad_left(column.label, width);
  for (std::string& cell : column.cells)
    cell = centred ? pad_both(cell, width) : pad_left(cell, width);
  return column;
}

std::string painted(const Grid& grid, const Cell& cell, const std::string& text,
                    const TextStyle& style) {
  const bool plain = cell.kind != Cell::Kind::number || grid.scale == Grid::Scale::none;
  if (!style.color || plain) return text;
  return background(color_of(grid, cell)) + text + "\x1b[0m";
}

// As many columns as fit the page; the rest is left out in the middle.
TextBlock fitted(const Grid& grid, std::size_t width, const TextStyle& style) {
  TextBlock block = grid_block(grid, style);
  for (std::size_t columns = grid.col_labels.size(); block.width > width && columns > 3; --columns)
    block = grid_block(narrowed(grid, columns - 1), style);
  return block;
}

// Blocks side by side, each after the first behind its sign.
std::vector<std::string> side_by_side(std::span<const TextBlock> blocks,
                                      std::span<const std::string> signs) {
  std::size_t height = 0, least = blocks[0].lines.size();
  for (const TextBlock& block : blocks) {
    height = std::max(height, block.lines.size());
    least = std::min(least, block.lines.size());
  }
  // Beside the middle of the rows that the smallest of the blocks has.
  const std::size_t middle = kHeaderLines + (least - kHeaderLines - 1) / 2;
  std::vector<std::string> lines;
  for (std::size_t y = 0; y < height; ++y) {
    std::string line;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (b > 0)
        line += "  " + (y == middle ? signs[b] : std::string(display_width(signs[b]), ' ')) + "  ";
      line += y < blocks[b].lines.size() ? blocks[b].lines[y] : std::string(blocks[b].width, ' ');
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string TextStyle::operator()(std::string_view text) const {
  return ascii ? to_ascii(text) : std::string(text);
}

TextBlock grid_block(const Grid& grid, const TextStyle& style) {
  std::size_t label_width = 0;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    labels.push_back(row_label(grid, i, style));
    label_width = std::max(label_width, display_width(labels.back()));
  }
  std::vector<Column> columns;
  for (std::size_t j = 0; j < grid.col_labels.size(); ++j)
    columns.push_back(column_of(grid, j, style));
  const std::string bar = style("│");

  TextBlock block;
  const std::string axes = style(axes_text(grid));
  block.lines.push_back(style(name_of(grid)) + (axes.empty() ? "" : "  " + axes));
  // label │ cell  cell  cell │
  std::string header(label_width + 2, ' ');
  for (const Column& column : columns)
    header += (&column == &columns[0] ? " " : "  ") + column.label;
  block.lines.push_back(header);
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    std::string line = pad_right(labels[i], label_width) + " " + bar;
    for (std::size_t j = 0; j < columns.size(); ++j)
      line += painted(grid, grid.cells[i][j], " " + columns[j].cells[i] + " ", style);
    block.lines.push_back(line + bar);
  }
  block.width = display_width(header) + 2;
  block.width = std::max(block.width, display_width(block.lines[0]));
  for (std::size_t y = 0; y < block.lines.size(); ++y) {
    const bool body = y >= kHeaderLines;  // already of its width, escapes aside
    const std::size_t have = body ? display_width(header) + 2 : display_width(block.lines[y]);
    block.lines[y] += std::string(block.width - have, ' ');
  }
  return block;
}

std::vector<std::string> equation_lines(const Equation& equation, const TextStyle& style) {
  std::vector<std::string> signs = {""};
  std::size_t margin = kIndent;
  for (const std::string& sign : equation.operators) signs.push_back(style(sign));
  std::vector<TextBlock> blocks;
  std::size_t width = kIndent;
  for (std::size_t g = 0; g < equation.grids.size(); ++g) {
    blocks.push_back(grid_block(equation.grids[g], style));
    width += blocks[g].width + (g > 0 ? display_width(signs[g]) + 4 : 0);
  }
  // What does not fit one line goes on below, its sign in a margin.
  if (width > style.width)
    for (const std::string& sign : signs) margin = std::max(margin, display_width(sign) + 2);
  std::vector<std::string> lines;
  for (std::size_t first = 0, next = 0; first < blocks.size(); first = next) {
    if (blocks[first].width > style.width - margin)
      blocks[first] = fitted(equation.grids[first], style.width - margin, style);
    width = margin + blocks[first].width;
    for (next = first + 1; next < blocks.size(); ++next) {
      width += display_width(signs[next]) + 4 + blocks[next].width;
      if (width > style.width) break;
    }
    if (first > 0) lines.emplace_back();
    const std::string sign = first == 0 || signs[first].empty() ? "" : " " + signs[first];
    for (const std::string& line : side_by_side(std::span(blocks).subspan(first, next - first),
                                                std::span(signs).subspan(first))) {
      const bool top = first == 0 ? lines.empty() : lines.back().empty();
      lines.push_back(pad_right(top ? sign : "", margin) + line);
      lines.back().erase(lines.back().find_last_not_of(' ') + 1);
    }
  }
  return lines;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width)
      lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace heed::explain
