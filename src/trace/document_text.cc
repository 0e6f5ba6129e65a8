// Pieces of a page that are the same words in every format.
#include <algorithm>
#include <cmath>

#include "trace/document.h"

namespace heed::explain {
namespace {

std::string axis_name(Axis axis) {
  switch (axis) {
    case Axis::query: return "query";
    case Axis::key: return "key";
    case Axis::token: return "token";
    case Axis::feature: break;
  }
  return "";
}

SoftmaxColumn column(std::string title, const std::vector<double>& values,
                     const std::vector<bool>& visible, const std::string& hidden,
                     const NumberStyle& style) {
  std::vector<double> shown;
  for (std::size_t j = 0; j < values.size(); ++j)
    if (visible[j]) shown.push_back(values[j]);
  const NumberFormat number = choose_format(shown, style);
  SoftmaxColumn result{std::move(title), {}};
  for (std::size_t j = 0; j < values.size(); ++j)
    result.cells.push_back(visible[j] ? format(values[j], number) : hidden);
  return result;
}

}  // namespace

std::string axes_text(const Grid& grid) {
  const std::string rows = axis_name(grid.row_axis), cols = axis_name(grid.col_axis);
  std::string text = rows.empty() ? "" : rows + " ↓";
  if (!cols.empty()) text += (text.empty() ? "" : " ") + cols + " →";
  return text;
}

std::string matrix_text(const Matrix& matrix, const NumberStyle& style, std::size_t most) {
  const NumberFormat number = choose_format(matrix.values, style);
  const std::size_t head = most / 2, tail = most < 4 ? 1 : 2;
  const auto line = [&](std::size_t i) {
    std::string text;
    for (std::size_t j = 0; j < matrix.cols; ++j) {
      if (matrix.cols > most && j == head) {
        text += ", …";
        j = matrix.cols - tail;
      }
      text += (j == 0 ? "" : ", ") + format(matrix(i, j), number);
    }
    return text;
  };
  std::string text = "[";
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (matrix.rows > most && i == head) {
      text += "; …";
      i = matrix.rows - tail;
    }
    text += (i == 0 ? "" : "; ") + line(i);
  }
  return text + "]";
}

std::string missing_before(const Parts& parts, std::size_t k) {
  if (parts.left_out == 0 || k != parts.gap) return "";
  return "… " + with_commas(parts.left_out) + " more";
}

std::vector<SoftmaxColumn> softmax_columns(const SoftmaxTable& table) {
  const SoftmaxRow& row = table.row;
  const NumberStyle& style = table.style;
  const std::string minus = style.ascii ? "-" : "−";
  std::vector<SoftmaxColumn> columns;
  columns.push_back(column("z", row.z, row.visible, masked_score(style.ascii), style));
  columns.push_back(
      column("z " + minus + " max", row.shifted, row.visible, masked_score(style.ascii), style));
  columns.push_back(
      column("exp(z " + minus + " max)", row.exps, row.visible, masked_weight(style.ascii), style));
  columns.push_back(column("weight", row.weights, row.visible, masked_weight(style.ascii), style));
  if (row.naive_fails) {
    columns.push_back(
        column("naive exp(z)", row.naive_exps, row.visible, masked_weight(style.ascii), style));
    columns.push_back(
        column("naive weight", row.naive_weights, row.visible, masked_weight(style.ascii), style));
  }
  return columns;
}

std::string softmax_summary(const SoftmaxTable& table) {
  const SoftmaxRow& row = table.row;
  if (row.fully_masked) return "sees no key: every weight is 0, and so is the output";
  std::string text =
      "max " + format(row.max, table.style) + ", sum " + format(row.sum, table.style);
  if (row.sink)
    text += ", of which the sink (score " + format(*row.sink, table.style) + ") is part";
  if (row.naive_fails)
    text += "; without subtracting the maximum, exp(z) sums to " +
            format(row.naive_sum, table.style) + " and the weights are lost";
  return text;
}

std::vector<std::string> comparison_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const KernelResult& result : comparison.kernel.results) {
    NumberStyle style;
    std::string of = result.id;
    if (comparison.kernel.results.size() > 1)
      of += " (sequence " + std::to_string(result.batch + 1) + ", head " +
            std::to_string(result.head + 1) + ")";
    lines.push_back(of + ": the fast kernel (" + comparison.kernel.target + ", float) is at most " +
                    format(result.ulps, style) + " ulp from the trace, at " + result.where);
  }
  return lines;
}

}  // namespace heed::explain
