// The page, before any format: what is shown of a trace and in which order, as a list of blocks.
//
// RenderOptions (which steps, how much detail, which entry, which view) are understood here and
// nowhere else; a renderer writes each kind of block its own way. Numbers are formatted here too,
// so that all pages show the same digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heed/render.h"
#include "heed/trace.h"
#include "trace/format.h"

namespace heed::explain {

// One cell of a grid.
struct Cell {
  enum class Kind : std::uint8_t { number, masked, ellipsis };
  Kind kind = Kind::number;
  std::string text;  // formatted: "0.4011", "−∞", "·", "…"
  double value = 0;
};

// A matrix as it is shown: past kMostShown rows or columns the middle is left out, in gaps: rows or
// columns of "…".
struct Grid {
  // What colours mean: numbers around 0 (diverging), weights in 0..1 (sequential), none.
  enum class Scale : std::uint8_t { diverging, weights, none };

  std::string id;                  // of the node: "Q", "W_K"
  std::size_t head = 0;            // 1-based where the name needs it (O₂); or 0
  bool transposed = false;         // shown as Kᵀ
  std::size_t rows = 0, cols = 0;  // of the whole matrix, as shown
  Axis row_axis = Axis::query, col_axis = Axis::feature;
  std::vector<std::string> row_labels, col_labels;  // of what is shown; "…" of a gap
  std::vector<std::vector<Cell>> cells;             // [shown rows][shown cols]
  std::vector<std::size_t> row_gaps, col_gaps;  // of each shown: how many a gap leaves out, or 0
  Scale scale = Scale::diverging;
  double bound = 0;                                   // diverging: the largest magnitude
  std::optional<std::size_t> marked_row, marked_col;  // shown ones to outline; both: one cell
};
inline constexpr std::size_t kMostShown = 24;

struct Heading {
  int level = 1;  // 1 title, 2 sequence or head, 3 step
  std::string text;
};
struct Paragraph {
  std::string text;
};
// Name and value: shapes, parameter counts, where numbers come from.
struct Facts {
  std::vector<std::pair<std::string, std::string>> items;
};
struct Graph {
  std::vector<GraphNode> nodes;
};
// A step: what it is called, its formula, why it is done.
struct StepHead {
  StepText text;
  std::string of;  // "head 2", "sequence 1, head 2", or empty
};
// grids[0] operators[0] grids[1] ... : "Q × Kᵀ = S".
struct Equation {
  std::vector<Grid> grids;
  std::vector<std::string> operators;
};
// An entry spelled out.
struct Working {
  Expansion expansion;
  NumberStyle style;
};
// The softmax of one row, column by column: z, z − max, exp, weight; or, with its naive variant.
struct SoftmaxTable {
  std::string row_label;
  std::vector<std::string> col_labels;
  SoftmaxRow row;
  NumberStyle style;
};
// A product seen by rows, by columns, or as outer products.
struct Parts {
  Combination combination;              // past kMostShown parts without those of the gap
  std::size_t gap = 0, left_out = 0;    // `left_out` parts are missing before parts[gap]
  std::vector<std::string> col_labels;  // of a row; rows of a column
  NumberStyle style;
};
// The fast kernel beside the trace.
struct Comparison {
  KernelComparison kernel;
};
using Block = std::variant<Heading, Paragraph, Facts, Graph, StepHead, Equation, Working,
                           SoftmaxTable, Parts, Comparison>;

std::vector<Block> build_document(const Trace& trace, const RenderOptions& options);

// An entry, row or column of a grid to outline; it is shown even in the middle of a long matrix.
struct Marks {
  std::optional<std::size_t> row, col;  // both: one cell
};
// The grid of a node; `transposed` shows it with rows and columns exchanged (the marks count those
// of what is shown).
Grid make_grid(const Trace& trace, const Node& node, const RenderOptions& options,
               bool transposed = false, const Marks& marks = {});

// A table without colours of cells already worded, its middle left out where it is long.
Grid make_table(const std::vector<std::string>& row_labels,
                const std::vector<std::string>& col_labels,
                const std::vector<std::vector<Cell>>& cells);

// How many rows or columns all gaps together leave out.
std::size_t left_out(const std::vector<std::size_t>& gaps);

// Whether the entry of a masked score or of its weight is hidden.
bool is_hidden(const Trace& trace, const Node& node, std::size_t i, std::size_t j);

// The same grid with at most `columns` (>= 3) columns shown, for pages narrower than it.
Grid narrowed(const Grid& grid, std::size_t columns);

// "Kᵀ", "O₂": the grid's name in plain text.
std::string name_of(const Grid& grid);

// Which way a grid is read, for its corner: "query ↓ key →"; features go without saying.
std::string axes_text(const Grid& grid);

// "[1, 2; 3, 4]": a small matrix on one line, past `most` rows or columns shortened.
std::string matrix_text(const Matrix& matrix, const NumberStyle& style,
                        std::size_t most = kMostShown);

// "… 27 more" where parts are missing before parts[k], else nothing.
std::string missing_before(const Parts& parts, std::size_t k);

// The columns of a worked softmax: z, z − max, exp(z − max), weight; and, where subtracting the
// maximum makes the difference, the naive exp(z) and weight beside them.
struct SoftmaxColumn {
  std::string title;
  std::vector<std::string> cells;  // one per key
};
std::vector<SoftmaxColumn> softmax_columns(const SoftmaxTable& table);
// "max 0.7071, sum 2.4937": the row in words, also of a row that sees no key.
std::string softmax_summary(const SoftmaxTable& table);

// "O: the kernel (prefill, AVX2) is at most 1 ulp away, at O[2,1]".
std::vector<std::string> comparison_lines(const Comparison& comparison);

// The style of numbers that the options ask for.
NumberStyle number_style(const RenderOptions& options);

}  // namespace heed::explain
