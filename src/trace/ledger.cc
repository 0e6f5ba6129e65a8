#include "trace/ledger.h"

#include <algorithm>
#include <cmath>

#include "trace/steps.h"

namespace heed::explain {
namespace {

Matrix row_of(const Matrix& m, std::size_t i) {
  const auto first = m.values.begin() + static_cast<std::ptrdiff_t>(i * m.cols);
  return {1, m.cols, {first, first + static_cast<std::ptrdiff_t>(m.cols)}};
}

void set_row(Matrix& m, std::size_t i, const std::vector<double>& row) {
  std::copy(row.begin(), row.end(), m.values.begin() + static_cast<std::ptrdiff_t>(i * m.cols));
}

SoftmaxRow worked_row(const Trace& trace, const Node& weights, const Matrix& z, std::size_t i) {
  std::optional<double> sink;
  if (!trace.problem.sinks.empty()) sink = trace.problem.sinks[weights.head];
  const std::vector<double> row = row_of(z, i).values;
  std::vector<bool> visible = visible_keys(trace, weights.batch, i, z.cols);
  // A hidden score that was written down as a number takes part, as it does by hand.
  if (trace.input(weights, 0).id == "M")
    for (std::size_t j = 0; j < row.size(); ++j) visible[j] = visible[j] || std::isfinite(row[j]);
  return softmax_of(row, visible, sink);
}

}  // namespace

Ledger::Key Ledger::key_of(const std::string& id, const Node& node, std::size_t of) {
  return {id, node.batch, node.head, of};
}

void Ledger::write(const ClaimedStep& step, std::size_t row, std::size_t col, double value,
                   Hypothesis because) {
  // Nodes that heads or sequences share are written once, wherever the claim names them from.
  const Node* node = trace_.find(step.id, step.batch, step.head);
  const Key key =
      node != nullptr ? key_of(step.id, *node) : Key(step.id, step.batch, step.head, step.of);
  std::vector<Written>& all = written_[key];
  std::erase_if(all, [&](const Written& w) { return w.row == row && w.col == col; });
  all.push_back({row, col, value, std::move(because)});
}

bool Ledger::overwrite(const Key& key, const Hypothesis& hypothesis, Matrix& values,
                       std::vector<bool>* where) const {
  const auto found = written_.find(key);
  if (found == written_.end()) return false;
  bool any = false;
  for (const Written& w : found->second) {
    if (!std::includes(hypothesis.begin(), hypothesis.end(), w.because.begin(), w.because.end()))
      continue;
    values(w.row, w.col) = w.value;
    if (where != nullptr) (*where)[w.row * values.cols + w.col] = true;
    any = true;
  }
  return any;
}

bool Ledger::touched(const Node& node) const {
  if (written_.empty()) return false;
  for (const auto& [key, all] : written_) {
    const auto& [id, batch, head, of] = key;
    if (id == node.id && batch == node.batch && head == node.head) return true;
    const bool between =
        (node.op == Op::scale && id == "root") ||
        (node.op == Op::softmax && (id == "exp" || id == "sum" || id == "shifted")) ||
        (node.id == "O" && id == "weighted");
    if (between && batch == node.batch && head == node.head) return true;
  }
  for (std::size_t which = 0; which < input_count(trace_, node); ++which)
    if (touched(trace_.input(node, which))) return true;
  return false;
}

Matrix Ledger::value(const Node& node, const Hypothesis& hypothesis) const {
  if (!touched(node)) return node.values;
  Matrix result = computed_node(node, hypothesis);
  overwrite(key_of(node.id, node), hypothesis, result);
  return result;
}

std::vector<Matrix> Ledger::inputs(const Node& node, const Hypothesis& hypothesis) const {
  std::vector<Matrix> result;
  for (std::size_t which = 0; which < input_count(trace_, node); ++which)
    result.push_back(value(trace_.input(node, which), hypothesis));
  return result;
}

Matrix Ledger::computed_node(const Node& node, const Hypothesis& hypothesis) const {
  if (node.op == Op::input) return node.values;
  const std::vector<Matrix> from = inputs(node, hypothesis);
  if (node.op == Op::softmax) return weights(node, from[0], hypothesis);
  Matrix root(1, 1);
  if (node.op == Op::scale && overwrite(Key("root", node.batch, node.head, 0), hypothesis, root)) {
    Matrix result = from[0];
    for (double& s : result.values) s /= root(0, 0);
    return result;
  }
  std::vector<const Matrix*> pointers;
  for (const Matrix& m : from) pointers.push_back(&m);
  Matrix result = evaluate(trace_, node, pointers);
  if (node.id == "O") {  // rows whose products were written down add up to them
    for (std::size_t i = 0; i < result.rows; ++i) {
      Matrix products(trace_.input(node, 0).values.cols, result.cols);
      std::vector<bool> where(products.values.size());
      overwrite(Key("weighted", node.batch, node.head, i), hypothesis, products, &where);
      if (std::count(where.begin(), where.end(), false) != 0) continue;
      for (std::size_t c = 0; c < result.cols; ++c) {
        result(i, c) = 0;
        for (std::size_t j = 0; j < products.rows; ++j) result(i, c) += products(j, c);
      }
    }
  }
  return result;
}

// The softmax, going on from exps and sums where they were written down.
Matrix Ledger::weights(const Node& node, const Matrix& z, const Hypothesis& hypothesis) const {
  Matrix result(z.rows, z.cols), exps(z.rows, z.cols), sums(z.rows, 1);
  std::vector<bool> has_exp(z.values.size()), has_sum(z.rows);
  overwrite(Key("exp", node.batch, node.head, 0), hypothesis, exps, &has_exp);
  overwrite(Key("sum", node.batch, node.head, 0), hypothesis, sums, &has_sum);
  for (std::size_t i = 0; i < z.rows; ++i) {
    const SoftmaxRow worked = worked_row(trace_, node, z, i);
    bool all = true;
    double sum = worked.sink ? worked.sum : 0;
    for (std::size_t j = 0; j < z.cols; ++j) {
      if (!worked.visible[j]) exps(i, j) = 0;
      all = all && (has_exp[i * z.cols + j] || !worked.visible[j]);
      if (!worked.sink) sum += exps(i, j);
    }
    if (!all || worked.fully_masked) {
      set_row(result, i, worked.weights);
      continue;
    }
    if (has_sum[i]) sum = sums(i, 0);
    for (std::size_t j = 0; j < z.cols; ++j) result(i, j) = exps(i, j) / sum;
  }
  return result;
}

std::vector<Matrix> Ledger::computed(const ClaimedStep& step, const Hypothesis& hypothesis) const {
  if (const Node* node = trace_.find(step.id, step.batch, step.head))
    return {touched(*node) ? computed_node(*node, hypothesis) : node->values};
  const Node& a = trace_.at("A", step.batch, step.head);
  if (step.id == "root") {
    const Node* z = trace_.find("Z", step.batch, step.head);
    return {Matrix(1, 1, z == nullptr ? 1.0 : 1 / z->parameter)};
  }
  if (step.id == "weighted") {
    const Node& o = trace_.at("O", step.batch, step.head);
    const std::vector<Matrix> from = inputs(o, hypothesis);
    Matrix products(from[1].rows, from[1].cols);
    for (std::size_t j = 0; j < products.rows; ++j)
      for (std::size_t c = 0; c < products.cols; ++c)
        products(j, c) = from[0](step.of, j) * from[1](j, c);
    return {products};
  }
  const Matrix z = value(trace_.input(a, 0), hypothesis);
  Matrix max(z.rows, 1), shifted(z.rows, z.cols), stable(z.rows, z.cols), naive(z.rows, z.cols);
  for (std::size_t i = 0; i < z.rows; ++i) {
    const SoftmaxRow row = worked_row(trace_, a, z, i);
    max(i, 0) = row.max;
    set_row(shifted, i, row.shifted);
    set_row(stable, i, row.exps);
    set_row(naive, i, row.naive_exps);
  }
  if (step.id == "max") return {max};
  if (step.id == "shifted") return {shifted};
  if (step.id == "exp") return {naive, stable};
  std::vector<Matrix> sums;
  for (Matrix* exps : {&naive, &stable}) {
    Matrix sum(z.rows, 1);
    overwrite(Key("exp", step.batch, step.head, 0), hypothesis, *exps);
    for (std::size_t i = 0; i < z.rows; ++i)
      for (std::size_t j = 0; j < z.cols; ++j) sum(i, 0) += (*exps)(i, j);
    sums.push_back(std::move(sum));
  }
  return sums;
}

}  // namespace heed::explain
