// One entry, spelled out: symbols, substitution, products, value, and what it is used for.
#include <algorithm>
#include <cmath>

#include "base/checks.h"
#include "heed/trace.h"
#include "trace/expression.h"
#include "trace/steps.h"

namespace heed::explain {
namespace {

// The small letter of a matrix: q of Q, w^Q of W_Q.
std::string letter(const std::string& id) {
  if (id == "X_KV") return "x'";
  if (id == "Z_cap") return "t";
  if (id == "Z_bias") return "u";
  const std::string small(1, static_cast<char>(std::tolower(static_cast<unsigned char>(id[0]))));
  return id.size() == 3 && id[1] == '_' ? small + "^" + id[2] : small;
}

Expression entry(const Node& node, std::size_t i, std::size_t j) {
  if (node.values.rows == 1 && node.id[0] == 'b') return symbol(letter(node.id), {j + 1});
  return symbol(letter(node.id), {i + 1, j + 1});
}

class Expander {
 public:
  Expander(const Trace& trace, const Node& node, std::size_t i, std::size_t j,
           const ExpandOptions& options)
      : trace_(trace), node_(node), i_(i), j_(j), options_(options) {}

  Expansion run() {
    e_.id = node_.id;
    e_.batch = node_.batch;
    e_.head = node_.head;
    e_.row = i_;
    e_.col = j_;
    e_.row_label = node_.row_labels[i_];
    e_.col_label = node_.col_labels[j_];
    e_.value = node_.values(i_, j_);
    e_.symbol = entry(node_, i_, j_);
    e_.symbols = e_.substitution = e_.products = sum({});
    e_.result = number(e_.value);
    work();
    reading();
    uses();
    return std::move(e_);
  }

 private:
  const Node& in(std::size_t which) const { return trace_.input(node_, which); }

  // Entry (i, j) of the input, as a symbol and as a number.
  Expression in_symbol(std::size_t which) const { return entry(in(which), i_, j_); }
  Expression in_number(std::size_t which) const { return number(in(which).values(i_, j_)); }

  void work() {
    switch (node_.op) {
      case Op::input: e_.note = "given"; break;
      case Op::matmul: matmul(); break;
      case Op::scale: scale(); break;
      case Op::softcap: softcap(); break;
      case Op::bias: bias(); break;
      case Op::mask: mask(); break;
      case Op::softmax: softmax(); break;
      case Op::concat: concat(); break;
    }
  }

  void matmul() {
    const Node &a = in(0), &b = in(1);
    std::vector<Expression> symbols, numbers, products;
    for (std::size_t k = 0; k < a.values.cols; ++k) {
      const std::size_t row = node_.transposed ? j_ : k, col = node_.transposed ? k : j_;
      if (node_.id == "O" && !hidden_by(trace_, node_.batch, i_, k).empty()) continue;
      const double x = a.values(i_, k), y = b.values(row, col);
      e_.terms.push_back({x, y, x * y});
      symbols.push_back(product(entry(a, i_, k), entry(b, row, col)));
      numbers.push_back(product(number(x), number(y)));
      products.push_back(number(x * y));
    }
    if (node_.inputs.size() > 2) {
      const Node& bias = in(2);
      const double y = bias.values(0, j_);
      e_.terms.push_back({1, y, y});
      symbols.push_back(entry(bias, 0, j_));
      numbers.push_back(number(y));
      products.push_back(number(y));
    }
    if (e_.terms.empty()) {
      e_.note = "no visible key: the row is 0";
      return;
    }
    e_.symbols = shortened(std::move(symbols));
    e_.substitution = shortened(std::move(numbers));
    e_.products = shortened(std::move(products));
  }

  // Head, ellipsis and the last term of a sum that is too long to show.
  Expression shortened(std::vector<Expression> terms) const {
    const std::size_t most = options_.max_terms;
    if (most == 0 || terms.size() <= most) return sum(std::move(terms));
    const std::size_t head = most > 2 ? most - 2 : 1, left_out = terms.size() - head - 1;
    Expression last = std::move(terms.back());
    terms.resize(head);
    terms.push_back(ellipsis(left_out));
    terms.push_back(std::move(last));
    return sum(std::move(terms));
  }

  void scale() {
    const double s = in(0).values(i_, j_);
    if (trace_.problem.scale) {
      e_.symbols = product(in_symbol(0), number(node_.parameter));
      e_.substitution = product(number(s), number(node_.parameter));
      return;
    }
    const auto m = static_cast<double>(trace_.sizes.m);
    e_.symbols = quotient(in_symbol(0), root(number(m)));
    e_.substitution = quotient(number(s), number(std::sqrt(m)));
  }

  void softcap() {
    const double cap = node_.parameter;
    e_.symbols = product(number(cap), call("tanh", quotient(in_symbol(0), number(cap))));
    e_.substitution = product(number(cap), call("tanh", quotient(in_number(0), number(cap))));
  }

  void bias() {
    std::vector<Expression> symbols = {in_symbol(0)}, numbers = {in_number(0)};
    if (node_.inputs.size() > 1) {
      const Node& b = in(1);
      const std::size_t row = b.values.rows == 1 ? 0 : i_;
      symbols.push_back(symbol("b", {i_ + 1, j_ + 1}));
      numbers.push_back(number(b.values(row, j_)));
    }
    if (!trace_.problem.alibi_slopes.empty()) {
      const double position =
          static_cast<double>(i_ + 1) + static_cast<double>(trace_.offsets[node_.batch]);
      const Expression distance =
          absolute(sum({number(position), negative(number(static_cast<double>(j_ + 1)))}));
      symbols.push_back(negative(product(symbol("slope"), distance)));
      numbers.push_back(negative(number(alibi(trace_, node_, i_, j_))));
    }
    e_.symbols = sum(std::move(symbols));
    e_.substitution = sum(std::move(numbers));
  }

  void mask() {
    const std::string why = hidden_by(trace_, node_.batch, i_, j_);
    e_.note = why.empty() ? "visible" : "hidden by the " + why;
    if (why.empty()) e_.symbols = in_symbol(0);
  }

  void softmax() {
    const SoftmaxRow row = softmax_row(trace_, node_.batch, node_.head, i_);
    if (!row.visible[j_]) {
      e_.note = row.fully_masked ? "no visible key: every weight of the row is 0"
                                 : "hidden by the " + hidden_by(trace_, node_.batch, i_, j_);
      return;
    }
    const Expression max = symbol("max", {i_ + 1}), total = symbol("sum", {i_ + 1});
    e_.symbols = quotient(exponential(sum({in_symbol(0), negative(max)})), total);
    e_.substitution =
        quotient(exponential(sum({number(row.z[j_]), negative(number(row.max))})), number(row.sum));
    e_.products = quotient(number(row.exps[j_]), number(row.sum));
  }

  void concat() {
    const std::size_t l = in(0).values.cols;
    e_.symbols = entry(in(j_ / l), i_, j_ % l);
    e_.note = "column " + std::to_string(j_ % l + 1) + " of head " + std::to_string(j_ / l + 1);
  }

  void reading() {
    const std::string row = e_.row_label, col = e_.col_label;
    const bool named_rows = node_.row_axis != Axis::feature;
    if (node_.row_axis == Axis::query && node_.col_axis == Axis::key)
      e_.reading =
          (row == "query" ? "the query" : "query of " + token(row)) + ", key of " + token(col);
    else if (named_rows)
      e_.reading = token(row) + ", column " + col;
    else
      e_.reading = "row " + row + ", column " + col;
  }

  // A token by name, or "token 2" where tokens have none.
  static std::string token(const std::string& label) {
    const bool number =
        std::all_of(label.begin(), label.end(), [](unsigned char c) { return std::isdigit(c); });
    return number ? "token " + label : label;
  }

  void use(const Node& by, const std::string& where) {
    e_.used_by.push_back({by.id, by.batch, by.head, where + " of " + by.id});
  }

  void uses() {
    const std::string row = "row " + std::to_string(i_ + 1),
                      col = "column " + std::to_string(j_ + 1);
    for (const Node& by : trace_.nodes)
      for (std::size_t which = 0; which < input_count(trace_, by); ++which) {
        if (&trace_.input(by, which) != &node_) continue;
        switch (by.op) {
          case Op::input: break;
          case Op::matmul:
            if (which == 0)
              use(by, row);
            else if (which == 1)
              use(by, by.transposed ? "column " + std::to_string(i_ + 1) : col);
            else
              use(by, col);
            break;
          case Op::softmax: use(by, row); break;
          case Op::concat:
            use(by, "entry " + std::to_string(i_ + 1) + "," +
                        std::to_string(which * node_.values.cols + j_ + 1));
            break;
          case Op::scale:
          case Op::softcap:
          case Op::bias:
          case Op::mask:
            use(by, "entry " + std::to_string(i_ + 1) + "," + std::to_string(j_ + 1));
            break;
        }
      }
  }

  const Trace& trace_;
  const Node& node_;
  const std::size_t i_, j_;
  const ExpandOptions options_;
  Expansion e_;
};

}  // namespace

Expansion expand(const Trace& trace, const Node& node, std::size_t i, std::size_t j,
                 const ExpandOptions& options) {
  require(i < node.values.rows && j < node.values.cols, node.id, "[", i + 1, ",", j + 1,
          "]: it has ", node.values.rows, " rows and ", node.values.cols, " columns");
  return Expander(trace, node, i, j, options).run();
}

}  // namespace heed::explain
