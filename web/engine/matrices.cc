#include "engine/matrices.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace heed::web {
namespace {

using explain::Axis;
using explain::Matrix;
using explain::Node;
using explain::NumberFormat;
using explain::Trace;

constexpr std::size_t kMostEdited = 20000;  // numbers of a problem that the page can edit

bool is_weights(const Node& node) {
  return node.id == "A";
}

// Whether entries of it can be hidden from a query.
bool hides(const Node& node) {
  return node.op == explain::Op::mask || is_weights(node);
}

bool is_hidden(const Trace& trace, const Node& node, std::size_t i, std::size_t j) {
  if (!hides(node)) return false;
  return !hidden_by(trace, node.batch, i, j).empty();
}

// Where a value lies on its colour scale, -1..1 in thousandths, which is finer than any screen;
// null for NaN. Written by hand because there are thousands of them in an answer.
Json shade(double value, double bound) {
  if (std::isnan(value)) return Json();
  const double relative = std::clamp(bound > 0 ? value / bound : value, -1.0, 1.0);
  const auto thousandths = std::lround(std::abs(relative) * 1000);
  if (thousandths == 0) return Json::raw("0");
  char text[] = "-0.000";
  if (thousandths == 1000) text[1] = '1';
  text[3] = static_cast<char>('0' + thousandths / 100 % 10);
  text[4] = static_cast<char>('0' + thousandths / 10 % 10);
  text[5] = static_cast<char>('0' + thousandths % 10);
  return Json::raw(relative < 0 ? text : text + 1);
}

std::string_view axis_name(Axis axis) {
  switch (axis) {
    case Axis::query: return "query";
    case Axis::key: return "key";
    case Axis::feature: return "feature";
    case Axis::token: return "token";
  }
  return "feature";
}

Json place_json(const Node& node) {
  return Object().add("id", node.id).add("batch", node.batch).add("head", node.head);
}

Json range(std::size_t first, std::size_t end) {
  return Array().push(first).push(end);
}

// The query heads that a node serves, first and one past the last.
Json heads_of(const Trace& trace, const Node& node) {
  if (node.every_head) return range(0, trace.sizes.heads);
  std::size_t first = trace.sizes.heads, end = 0;
  for (std::size_t h = 0; h < trace.sizes.heads; ++h)
    if (trace.find(node.id, node.batch, h) == &node) {
      first = std::min(first, h);
      end = h + 1;
    }
  return range(first, end);
}

Json batches_of(const Trace& trace, const Node& node) {
  if (node.every_batch) return range(0, trace.sizes.batch);
  return range(node.batch, node.batch + 1);
}

Json inputs_json(const Trace& trace, const Node& node) {
  Array inputs;
  const bool concat = node.op == explain::Op::concat;
  const std::size_t count = concat ? trace.sizes.heads : node.inputs.size();
  for (std::size_t which = 0; which < count; ++which)
    inputs.push(place_json(trace.input(node, which)));
  return inputs;
}

Json scale_json(const Solved& solved, const Node& node) {
  if (is_weights(node)) return Object().add("kind", "weights").add("low", "0").add("high", "1");
  const double bound = solved.bounds.at(node.id);
  return Object()
      .add("kind", "diverging")
      .add("low", explain::format(-bound, solved.style))
      .add("high", explain::format(bound, solved.style));
}

bool is_rounded(const Matrix& values, const NumberFormat& format) {
  return std::any_of(values.values.begin(), values.values.end(),
                     [&](double value) { return !explain::is_exact(value, format); });
}

Json matrix_json(const Solved& solved, const Node& node) {
  const Trace& trace = solved.trace;
  const Matrix& values = node.values;
  const bool whole = values.values.size() <= kMostSent;
  const auto& format = solved.formats[static_cast<std::size_t>(&node - trace.nodes.data())];
  return Object()
      .add_all(place_json(node).text())
      .add("op", name_of(node.op))
      .add("inputs", inputs_json(trace, node))
      .add("batches", batches_of(trace, node))
      .add("heads", heads_of(trace, node))
      .add("transposed", node.transposed)
      .add("rows", values.rows)
      .add("cols", values.cols)
      .add("rowAxis", axis_name(node.row_axis))
      .add("colAxis", axis_name(node.col_axis))
      .add("rowLabels", node.row_labels)
      .add("colLabels", node.col_labels)
      .add("shapes", describe(trace, node).shapes)
      .add("rounded", whole && is_rounded(values, format))
      .add("scale", scale_json(solved, node))
      .add("cells", whole ? window_json(solved, node, 0, 0, values.rows, values.cols) : Json());
}

Json steps_json(const Trace& trace) {
  Array steps;
  std::set<std::string> seen;
  for (const Node& node : trace.nodes) {
    const bool embeddings = node.id == "X" || node.id == "X_KV";
    if ((node.op == explain::Op::input && !embeddings) || !seen.insert(node.id).second) continue;
    const explain::StepText text = describe(trace, node);
    steps.push(Object()
                   .add("id", node.id)
                   .add("key", text.key)
                   .add("title", text.title)
                   .add("formula", text.formula)
                   .add("latex", text.latex)
                   .add("why", text.why));
  }
  return steps;
}

// "heads 786,432 + W_O 262,144 = 1,048,576": nothing where no weights are learned.
std::string parameters_text(const explain::Sizes& sizes) {
  if (sizes.parameters() == 0) return "";
  std::string text = "heads " + explain::with_commas(sizes.head_parameters);
  if (sizes.output_parameters > 0)
    text += " + W_O " + explain::with_commas(sizes.output_parameters);
  if (sizes.bias_parameters > 0) text += " + biases " + explain::with_commas(sizes.bias_parameters);
  const bool alone = sizes.parameters() == sizes.head_parameters;
  return alone ? text : text + " = " + explain::with_commas(sizes.parameters());
}

Object rectangle(std::size_t row, std::size_t col, std::size_t rows, std::size_t cols) {
  return Object().add("row", row).add("col", col).add("rows", rows).add("cols", cols);
}

bool is_editable(const Trace& trace) {
  std::size_t numbers = 0;
  for (const Node& node : trace.nodes)
    if (node.op == explain::Op::input) numbers += node.values.values.size();
  return numbers <= kMostEdited;
}

}  // namespace

const Solved& slot_of(const Session& session, const std::string& name) {
  const auto found = session.slots.find(name);
  if (found == session.slots.end()) throw Error("there is no problem in slot " + name);
  return found->second;
}

double bound_of(const Matrix& values) {
  double bound = 0;
  for (const double value : values.values)
    if (std::isfinite(value)) bound = std::max(bound, std::abs(value));
  return bound;
}

Solved solve(explain::Problem problem, const explain::NumberStyle& style) {
  Solved solved{trace(std::move(problem)), style, {}, {}};
  for (const Node& node : solved.trace.nodes) {
    double& bound = solved.bounds[node.id];
    bound = std::max(bound, bound_of(node.values));
    solved.formats.push_back(choose_format(node.values.values, style));
  }
  return solved;
}

Json window_json(const Solved& solved, const Node& node, std::size_t row, std::size_t col,
                 std::size_t rows, std::size_t cols) {
  const Matrix& values = node.values;
  row = std::min(row, values.rows);
  col = std::min(col, values.cols);
  rows = std::min(rows, values.rows - row);
  cols = std::min(cols, values.cols - col);
  const auto& format = solved.formats[static_cast<std::size_t>(&node - solved.trace.nodes.data())];
  const double bound = is_weights(node) ? 1 : solved.bounds.at(node.id);
  Array text, shades, hidden;
  const bool masks = hides(node);
  bool any_hidden = false;
  for (std::size_t i = row; i < row + rows; ++i)
    for (std::size_t j = col; j < col + cols; ++j) {
      const bool is_masked = is_hidden(solved.trace, node, i, j);
      any_hidden = any_hidden || is_masked;
      if (masks) hidden.push(is_masked);
      shades.push(is_masked ? Json() : shade(values(i, j), bound));
      text.push(!is_masked         ? explain::format(values(i, j), format)
                : is_weights(node) ? explain::masked_weight(false)
                                   : explain::masked_score(false));
    }
  return rectangle(row, col, rows, cols)
      .add("text", text)
      .add("shade", shades)
      .add("hidden", any_hidden ? Json(hidden) : Json());
}

Json cells_json(const Matrix& values, const CellOptions& options) {
  const double bound = options.bound > 0 ? options.bound : bound_of(values);
  const NumberFormat format = choose_format(values.values, options.style);
  Array text, shades, hidden;
  for (std::size_t k = 0; k < values.values.size(); ++k) {
    const bool is_masked = !options.hidden.empty() && options.hidden[k];
    hidden.push(is_masked);
    text.push(is_masked ? explain::masked_weight(false)
                        : explain::format(values.values[k], format));
    shades.push(is_masked ? Json() : shade(values.values[k], bound));
  }
  return rectangle(options.row, options.col, values.rows, values.cols)
      .add("text", text)
      .add("shade", shades)
      .add("hidden", options.hidden.empty() ? Json() : Json(hidden));
}

Json difference_json(const Solved& a, const Node& node_a, const Solved& b, const Node& node_b) {
  const Matrix &x = node_a.values, &y = node_b.values;
  const auto shape = [](const Matrix& m) {
    return std::to_string(m.rows) + "×" + std::to_string(m.cols);
  };
  if (x.rows != y.rows || x.cols != y.cols)
    throw Error(node_a.id + ": is " + shape(x) + " in A but " + shape(y) + " in B");
  Matrix difference(x.rows, x.cols);
  CellOptions options{.style = a.style};
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t j = 0; j < x.cols; ++j) {
      const bool both = is_hidden(a.trace, node_a, i, j) && is_hidden(b.trace, node_b, i, j);
      options.hidden.push_back(both);
      difference(i, j) = both ? 0 : x(i, j) - y(i, j);
    }
  return Object()
      .add_all(cells_json(difference, options).text())
      .add("bound", explain::format(bound_of(difference), a.style));
}

Json solved_json(const Solved& solved, bool echo) {
  const Trace& trace = solved.trace;
  const explain::Sizes& sizes = trace.sizes;
  return Object()
      .add("title", trace.problem.title)
      .add("sizes", Object()
                        .add("batch", sizes.batch)
                        .add("heads", sizes.heads)
                        .add("kvHeads", sizes.kv_heads)
                        .add("parameters", parameters_text(sizes)))
      .add("steps", steps_json(trace))
      .add("matrices", array_of(trace.nodes, [&](const Node& n) { return matrix_json(solved, n); }))
      .add("inputs", describe(trace.problem.inputs))
      .add("weights", describe(trace.problem.weights))
      .add("problem", echo && is_editable(trace) ? Json::raw(to_json(trace.problem)) : Json());
}

}  // namespace heed::web
