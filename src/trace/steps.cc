#include "trace/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/math.h"

namespace heed::explain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Matrix biased(const Trace& trace, const Node& node, const std::vector<const Matrix*>& inputs) {
  Matrix z = *inputs[0];
  for (std::size_t i = 0; i < z.rows; ++i)
    for (std::size_t j = 0; j < z.cols; ++j) {
      if (inputs.size() > 1) z(i, j) += (*inputs[1])(inputs[1]->rows == 1 ? 0 : i, j);
      if (!trace.problem.alibi_slopes.empty()) z(i, j) -= alibi(trace, node, i, j);
    }
  return z;
}

Matrix masked(const Trace& trace, const Node& node, Matrix z) {
  for (std::size_t i = 0; i < z.rows; ++i)
    for (std::size_t j = 0; j < z.cols; ++j)
      if (!hidden_by(trace, node.batch, i, j).empty()) z(i, j) = -kInf;
  return z;
}

Matrix softmax(const Trace& trace, const Node& node, const Matrix& z) {
  Matrix a(z.rows, z.cols);
  for (std::size_t i = 0; i < z.rows; ++i) {
    const auto first = z.values.begin() + static_cast<std::ptrdiff_t>(i * z.cols);
    const std::optional<double> sink = trace.problem.sinks.empty()
                                           ? std::nullopt
                                           : std::optional<double>(trace.problem.sinks[node.head]);
    const SoftmaxRow row = softmax_of({first, first + static_cast<std::ptrdiff_t>(z.cols)},
                                      visible_keys(trace, node.batch, i, z.cols), sink);
    std::copy(row.weights.begin(), row.weights.end(),
              a.values.begin() + static_cast<std::ptrdiff_t>(i * z.cols));
  }
  return a;
}

// A hidden value does not count, whatever it holds: 0 * NaN of a hidden one is not 0.
Matrix mix(const Trace& trace, const Node& node, const Matrix& a, const Matrix& v) {
  Matrix o(a.rows, v.cols);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.cols; ++j)
      if (hidden_by(trace, node.batch, i, j).empty())
        for (std::size_t c = 0; c < v.cols; ++c) o(i, c) += a(i, j) * v(j, c);
  return o;
}

template <class F>
Matrix each(Matrix m, F f) {
  std::transform(m.values.begin(), m.values.end(), m.values.begin(), f);
  return m;
}

// As it would be written down: exp(z) / sum exp(z), with nothing subtracted.
void naive_softmax(SoftmaxRow& row) {
  for (std::size_t j = 0; j < row.z.size(); ++j)
    row.naive_exps.push_back(row.visible[j] ? reference::exp(row.z[j]) : 0);
  row.naive_sum = row.sink ? reference::exp(*row.sink) : 0;
  for (const double e : row.naive_exps) row.naive_sum += e;
  for (const double e : row.naive_exps) row.naive_weights.push_back(e / row.naive_sum);
  row.naive_fails =
      !row.fully_masked && std::isfinite(row.max) && (row.naive_sum == kInf || row.naive_sum == 0);
}

}  // namespace

Matrix multiply(const Matrix& a, const Matrix& b, const Matrix* bias) {
  Matrix c(a.rows, b.cols);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < b.cols; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.cols; ++k) sum += a(i, k) * b(k, j);
      c(i, j) = bias ? sum + (*bias)(0, j) : sum;
    }
  return c;
}

Matrix transpose(const Matrix& a) {
  Matrix t(a.cols, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  return t;
}

Matrix concatenate(const std::vector<const Matrix*>& heads) {
  const std::size_t l = heads[0]->cols;
  Matrix c(heads[0]->rows, heads.size() * l);
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.cols; ++j) c(i, j) = (*heads[j / l])(i, j % l);
  return c;
}

SoftmaxRow softmax_of(std::vector<double> z, std::vector<bool> visible,
                      std::optional<double> sink) {
  SoftmaxRow row;
  row.z = std::move(z);
  row.visible = std::move(visible);
  row.sink = sink;
  row.max = sink.value_or(-kInf);
  row.fully_masked = true;
  for (std::size_t j = 0; j < row.z.size(); ++j)
    if (row.visible[j]) {
      row.fully_masked = false;
      row.max = std::isnan(row.z[j]) ? row.z[j] : std::max(row.max, row.z[j]);
    }
  const bool has_sink = sink && *sink != -kInf;
  row.sum = has_sink && !row.fully_masked ? reference::exp(*sink - row.max) : 0;
  for (std::size_t j = 0; j < row.z.size(); ++j) {
    row.shifted.push_back(row.visible[j] ? row.z[j] - row.max : -kInf);
    row.exps.push_back(row.visible[j] ? reference::exp(row.shifted[j]) : 0);
    if (row.visible[j]) row.sum += row.exps[j];
  }
  for (std::size_t j = 0; j < row.z.size(); ++j)
    row.weights.push_back(row.visible[j] ? row.exps[j] / row.sum : 0);
  row.lse = row.fully_masked ? sink.value_or(-kInf) : row.max + reference::log(row.sum);
  naive_softmax(row);
  return row;
}

std::vector<bool> visible_keys(const Trace& trace, std::size_t batch, std::size_t i,
                               std::size_t n_k) {
  std::vector<bool> visible(n_k);
  for (std::size_t j = 0; j < n_k; ++j) visible[j] = hidden_by(trace, batch, i, j).empty();
  return visible;
}

std::size_t input_count(const Trace& trace, const Node& node) {
  return node.op == Op::concat ? trace.sizes.heads : node.inputs.size();
}

double alibi(const Trace& trace, const Node& node, std::size_t i, std::size_t j) {
  const double distance = static_cast<double>(i) + static_cast<double>(trace.offsets[node.batch]) -
                          static_cast<double>(j);
  return node.parameter * std::abs(distance);
}

Matrix evaluate(const Trace& trace, const Node& node, const std::vector<const Matrix*>& inputs) {
  switch (node.op) {
    case Op::input: return node.values;
    case Op::matmul:
      if (node.id == "O") return mix(trace, node, *inputs[0], *inputs[1]);
      return multiply(*inputs[0], node.transposed ? transpose(*inputs[1]) : *inputs[1],
                      inputs.size() > 2 ? inputs[2] : nullptr);
    case Op::scale: return each(*inputs[0], [&](double s) { return node.parameter * s; });
    case Op::softcap:
      return each(*inputs[0],
                  [&](double s) { return node.parameter * reference::tanh(s / node.parameter); });
    case Op::bias: return biased(trace, node, inputs);
    case Op::mask: return masked(trace, node, *inputs[0]);
    case Op::softmax: return softmax(trace, node, *inputs[0]);
    case Op::concat: return concatenate(inputs);
  }
  return {};
}

}  // namespace heed::explain
