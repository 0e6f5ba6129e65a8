// A softmax row in all its parts, and a product seen by rows, by columns and as outer products.
#include "base/checks.h"
#include "heed/trace.h"
#include "trace/expression.h"
#include "trace/steps.h"

namespace heed::explain {
namespace {

Matrix row_of(const Matrix& m, std::size_t i) {
  Matrix row(1, m.cols);
  for (std::size_t j = 0; j < m.cols; ++j) row(0, j) = m(i, j);
  return row;
}

Matrix column_of(const Matrix& m, std::size_t j) {
  return transpose(row_of(transpose(m), j));
}

Matrix times(double factor, Matrix m) {
  for (double& value : m.values) value *= factor;
  return m;
}

std::string letter_of(const std::string& id) {
  return std::string(1, static_cast<char>(id[0] | 0x20));  // ids begin with an ASCII letter
}

}  // namespace

SoftmaxRow softmax_row(const Trace& trace, std::size_t batch, std::size_t head, std::size_t row) {
  const Node& a = trace.at("A", batch, head);
  const Matrix& z = trace.input(a, 0).values;
  require(row < z.rows, "A: there is no row ", row + 1, "; there are ", z.rows);
  const Matrix own = row_of(z, row);
  return softmax_of(own.values, visible_keys(trace, batch, row, z.cols),
                    trace.problem.sinks.empty() ? std::nullopt
                                                : std::optional<double>(trace.problem.sinks[head]));
}

std::string_view name_of(View view) {
  switch (view) {
    case View::entry: return "entry";
    case View::row: return "row";
    case View::column: return "column";
    case View::outer: return "outer";
  }
  return "?";
}

Combination combine(const Trace& trace, const Node& node, View view, std::size_t index) {
  require(node.op == Op::matmul, node.id, ": is not a product, so it has no ", name_of(view),
          " view");
  require(view != View::entry, node.id, ": the entry view is expand()");
  const std::size_t last = view == View::row      ? node.values.rows
                           : view == View::column ? node.values.cols
                                                  : index + 1;
  require(index < last, node.id, ": there is no ", name_of(view), " ", index + 1, "; there are ",
          last);
  const Node &left = trace.input(node, 0), &right = trace.input(node, 1);
  const Matrix& a = left.values;
  const Matrix b = node.transposed ? transpose(right.values) : right.values;
  // Rows of the second factor have the names of what is summed over: keys, or plain numbers.
  const std::string b_name = right.id + (node.transposed ? "ᵀ" : "");
  const std::vector<std::string>& terms = left.col_labels;

  Combination c;
  c.view = view;
  c.index = index;
  c.name = view == View::row      ? "row " + node.row_labels[index] + " of " + node.id
           : view == View::column ? "column " + node.col_labels[index] + " of " + node.id
                                  : node.id;
  for (std::size_t k = 0; k < a.cols; ++k) {
    Part part;
    const std::string row_name = "row " + terms[k] + " of " + b_name;
    const std::string column_name = "column " + terms[k] + " of " + left.id;
    if (view == View::row) {
      if (node.id == "O" && !hidden_by(trace, node.batch, index, k).empty()) continue;
      part.coefficient = a(index, k);
      part.symbol = symbol(letter_of(left.id), {index + 1, k + 1});
      part.name = row_name;
      part.vector = row_of(b, k);
    } else if (view == View::column) {
      part.coefficient = b(k, index);
      part.symbol = node.transposed ? symbol(letter_of(right.id), {index + 1, k + 1})
                                    : symbol(letter_of(right.id), {k + 1, index + 1});
      part.name = column_name;
      part.vector = column_of(a, k);
    } else {
      part.name = column_name + " times " + row_name;
      part.vector = multiply(column_of(a, k), row_of(b, k));
    }
    part.product = times(part.coefficient, part.vector);
    c.parts.push_back(std::move(part));
  }
  if (node.inputs.size() > 2) {
    const Matrix& bias = trace.input(node, 2).values;
    Part part;
    part.name = node.inputs[2];
    part.vector = view == View::row ? bias : Matrix(a.rows, view == View::column ? 1 : b.cols);
    if (view != View::row)
      for (std::size_t i = 0; i < part.vector.rows; ++i)
        for (std::size_t j = 0; j < part.vector.cols; ++j)
          part.vector(i, j) = bias(0, view == View::column ? index : j);
    part.product = part.vector;
    c.parts.push_back(std::move(part));
  }
  c.value = view == View::row      ? row_of(node.values, index)
            : view == View::column ? column_of(node.values, index)
                                   : node.values;
  return c;
}

}  // namespace heed::explain
