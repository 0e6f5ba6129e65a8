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

// C = A B (+ bias), term by term.
class Product {
 public:
  Product(const Trace& trace, const Node& node)
      : trace_(trace),
        node_(node),
        left_(trace.input(node, 0)),
        right_(trace.input(node, 1)),
        b_(node.transposed ? transpose(right_.values) : right_.values) {}

  std::size_t terms() const { return left_.values.cols; }

  // A hidden key has no part in its row of the output, whatever its value holds.
  bool counts(View view, std::size_t index, std::size_t k) const {
    return view != View::row || node_.id != "O" || hidden_by(trace_, node_.batch, index, k).empty();
  }

  Part part(View view, std::size_t index, std::size_t k) const {
    // Terms have the names of what is summed over: keys, or plain numbers.
    const std::string& term = left_.col_labels[k];
    const std::string row = "row " + term + " of " + right_.id + (node_.transposed ? "ᵀ" : "");
    const std::string column = "column " + term + " of " + left_.id;
    Part part;
    if (view == View::row) {
      part.coefficient = left_.values(index, k);
      part.symbol = symbol(letter_of(left_.id), {index + 1, k + 1});
      part.name = row;
      part.vector = row_of(b_, k);
    } else if (view == View::column) {
      part.coefficient = b_(k, index);
      part.symbol = node_.transposed ? symbol(letter_of(right_.id), {index + 1, k + 1})
                                     : symbol(letter_of(right_.id), {k + 1, index + 1});
      part.name = column;
      part.vector = column_of(left_.values, k);
    } else {
      part.name = column + " times " + row;
      part.vector = multiply(column_of(left_.values, k), row_of(b_, k));
    }
    part.product = times(part.coefficient, part.vector);
    return part;
  }

  // The bias, as often as the view has rows.
  Part bias(View view, std::size_t index) const {
    const Matrix& row = trace_.input(node_, 2).values;
    Part part;
    part.name = node_.inputs[2];
    part.vector = Matrix(view == View::row ? 1 : node_.values.rows,
                         view == View::column ? 1 : node_.values.cols);
    for (std::size_t i = 0; i < part.vector.rows; ++i)
      for (std::size_t j = 0; j < part.vector.cols; ++j)
        part.vector(i, j) = row(0, view == View::column ? index : j);
    part.product = part.vector;
    return part;
  }

 private:
  const Trace& trace_;
  const Node &node_, &left_, &right_;
  const Matrix b_;
};

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
  const std::size_t count = view == View::row      ? node.values.rows
                            : view == View::column ? node.values.cols
                                                   : index + 1;
  require(index < count, node.id, ": there is no ", name_of(view), " ", index + 1, "; there are ",
          count);
  const Product product(trace, node);
  Combination c;
  c.view = view;
  c.index = index;
  c.name = view == View::row      ? "row " + node.row_labels[index] + " of " + node.id
           : view == View::column ? "column " + node.col_labels[index] + " of " + node.id
                                  : node.id;
  for (std::size_t k = 0; k < product.terms(); ++k)
    if (product.counts(view, index, k)) c.parts.push_back(product.part(view, index, k));
  if (node.inputs.size() > 2) c.parts.push_back(product.bias(view, index));
  c.value = view == View::row      ? row_of(node.values, index)
            : view == View::column ? column_of(node.values, index)
                                   : node.values;
  return c;
}

}  // namespace heed::explain
