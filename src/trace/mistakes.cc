#include "trace/mistakes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/charconv.h"
#include "reference/math.h"
#include "trace/expression.h"
#include "trace/steps.h"

namespace heed::explain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Matrix times(Matrix m, double factor) {
  for (double& x : m.values) x *= factor;
  return m;
}

// One claimed step held against every known mistake, one after the other.
class Recogniser {
 public:
  Recogniser(const Trace& trace, const Ledger& ledger, const ClaimedStep& step,
             const Hypothesis& hypothesis, const Matches& matches)
      : trace_(trace), ledger_(ledger), step_(step), hypothesis_(hypothesis), matches_(matches) {}

  std::optional<Mistake> run() {
    const Node* node = trace_.find(step_.id, step_.batch, step_.head);
    if (node == nullptr) {
      if (step_.id == "root") root();
      return found_;
    }
    node_ = node;
    switch (node->op) {
      case Op::matmul:
        if (node->id == "S")
          scores();
        else if (node->id == "O")
          output();
        else
          projection();
        break;
      case Op::scale: scaled(); break;
      case Op::mask: masked(); break;
      case Op::softmax: weights(); break;
      case Op::concat: concatenated(); break;
      default: break;
    }
    return found_;
  }

 private:
  void consider(const Matrix& whole, const char* key, const std::string& diagnosis) {
    const Matrix& right = node_ == nullptr ? whole : node_->values;
    const bool fits = whole.rows == right.rows && whole.cols == right.cols;
    if (!found_ && fits && matches_(whole)) found_ = Mistake{key, diagnosis};
  }

  Matrix value(const char* id) const {
    return ledger_.value(trace_.at(id, step_.batch, step_.head), hypothesis_);
  }
  bool has(const char* id) const { return trace_.find(id, step_.batch, step_.head) != nullptr; }
  double d_k() const { return static_cast<double>(trace_.sizes.m); }
  double d_model() const { return static_cast<double>(trace_.sizes.d); }
  std::string root_of_d_k() const { return "√d_k = √" + std::to_string(trace_.sizes.m); }

  void root() {
    consider(Matrix(1, 1, d_k()), "no-root", "d_k itself stands in the place of " + root_of_d_k());
    consider(Matrix(1, 1, std::sqrt(d_model())), "root-of-d-model",
             "the root is of the model size, not of d_k");
  }

  void projection() {
    const std::vector<Matrix> in = ledger_.inputs(*node_, hypothesis_);
    if (in[1].rows == in[1].cols)
      consider(multiply(in[0], transpose(in[1])), "transposed-weights",
               node_->inputs[1] + " was transposed: columns of " + node_->inputs[1] +
                   " are to be used, not its rows");
    if (in.size() > 2)
      consider(multiply(in[0], in[1]), "no-bias", node_->inputs[2] + " was not added");
  }

  void scores() {
    const Matrix q = value("Q"), k = value("K");
    if (q.cols == k.rows)
      consider(multiply(q, k), "no-transpose", "K was not transposed: this is Q·K, not Q·Kᵀ");
    consider(multiply(k, transpose(q)), "queries-and-keys-exchanged",
             "queries and keys were exchanged: this is K·Qᵀ, not Q·Kᵀ");
  }

  void scaled() {
    const Matrix s = ledger_.inputs(*node_, hypothesis_)[0];
    consider(s, "no-scale", "the scores were not divided by " + root_of_d_k());
    consider(times(s, 1 / d_k()), "no-root",
             "the scores were divided by d_k instead of " + root_of_d_k());
    consider(times(s, std::sqrt(d_k())), "scale-inverted",
             "the scores were multiplied by " + root_of_d_k() + " instead of divided");
    if (trace_.sizes.d != 0)
      consider(times(s, 1 / std::sqrt(d_model())), "root-of-d-model",
               "the scores were divided by √" + std::to_string(trace_.sizes.d) +
                   ", the root of the model size, instead of " + root_of_d_k());
  }

  void masked() {
    const Matrix z = ledger_.inputs(*node_, hypothesis_)[0];
    Matrix zeros = z, mirrored = z;
    for (std::size_t i = 0; i < z.rows; ++i)
      for (std::size_t j = 0; j < z.cols; ++j) {
        if (hidden(i, j)) zeros(i, j) = 0;
        if (z.rows == z.cols) mirrored(i, j) = hidden(j, i) ? -kInf : z(i, j);
      }
    consider(zeros, "mask-as-zero",
             "hidden scores were set to 0 instead of −∞, so that they keep a weight");
    consider(z, "no-mask", "the mask was not applied");
    if (z.rows == z.cols)
      consider(mirrored, "mask-transposed",
               "the mask was applied to the wrong side of the diagonal");
  }

  bool hidden(std::size_t i, std::size_t j) const {
    return !hidden_by(trace_, node_->batch, i, j).empty();
  }

  std::vector<bool> everything(std::size_t n) const { return std::vector<bool>(n, true); }

  Matrix softmax_rows(const Matrix& z, bool masked) const {
    Matrix a(z.rows, z.cols);
    for (std::size_t i = 0; i < z.rows; ++i) {
      std::vector<double> row;
      for (std::size_t j = 0; j < z.cols; ++j) row.push_back(z(i, j));
      const SoftmaxRow worked = softmax_of(
          row, masked ? visible_keys(trace_, step_.batch, i, z.cols) : everything(z.cols), {});
      for (std::size_t j = 0; j < z.cols; ++j) a(i, j) = worked.weights[j];
    }
    return a;
  }

  // The scores as they are before the mask.
  Matrix unmasked() const {
    for (const char* id : {"Z_bias", "Z_cap", "Z", "S"})
      if (has(id)) return value(id);
    return value("S");
  }

  // Wrong ways to the weights, each a key, a sentence and a matrix; the output's too.
  struct Way {
    const char* key;
    std::string diagnosis;
    Matrix weights;
  };
  std::vector<Way> ways() const {
    const Matrix z = unmasked(), s = value("S");
    std::vector<Way> all;
    if (has("Z")) {
      all.push_back(
          {"no-scale", "the scores were not divided by " + root_of_d_k(), softmax_rows(s, true)});
      const double scale = trace_.at("Z", step_.batch, step_.head).parameter;
      all.push_back({"scaled-after-softmax",
                     "the scale belongs to the scores, before the softmax; here the result of the "
                     "softmax was divided by " +
                         root_of_d_k(),
                     times(softmax_rows(s, true), scale)});
      if (trace_.sizes.d != 0)
        all.push_back({"root-of-d-model",
                       "the scores were divided by √" + std::to_string(trace_.sizes.d) +
                           ", the root of the model size, instead of " + root_of_d_k(),
                       softmax_rows(times(s, 1 / std::sqrt(d_model())), true)});
      all.push_back({"no-root", "the scores were divided by d_k instead of " + root_of_d_k(),
                     softmax_rows(times(s, 1 / d_k()), true)});
    }
    all.push_back({"softmax-columns", "the softmax was taken down the columns, not along the rows",
                   transpose(softmax_rows(transpose(z), false))});
    if (has("M")) {
      Matrix zeros = z, after = softmax_rows(z, false);
      for (std::size_t i = 0; i < z.rows; ++i)
        for (std::size_t j = 0; j < z.cols; ++j)
          if (hidden_by(trace_, step_.batch, i, j).size() != 0) zeros(i, j) = after(i, j) = 0;
      all.push_back({"mask-after-softmax",
                     "the mask was applied after the softmax, so that rows no longer add up to 1",
                     after});
      all.push_back({"mask-as-zero",
                     "hidden scores were set to 0 instead of −∞, so that they keep a weight",
                     softmax_rows(zeros, false)});
      all.push_back({"no-mask", "the mask was not applied", softmax_rows(z, false)});
    }
    shares(all, z);
    return all;
  }

  // Rows that are divided by the wrong thing, or not at all.
  void shares(std::vector<Way>& all, const Matrix& z) const {
    Matrix exps(z.rows, z.cols), of_sum(z.rows, z.cols), no_exp(z.rows, z.cols);
    for (std::size_t i = 0; i < z.rows; ++i) {
      const std::vector<bool> seen = visible_keys(trace_, step_.batch, i, z.cols);
      double sum = 0;
      for (std::size_t j = 0; j < z.cols; ++j)
        if (seen[j]) sum += z(i, j);
      for (std::size_t j = 0; j < z.cols; ++j) {
        if (!seen[j]) continue;
        exps(i, j) = reference::exp(z(i, j));
        of_sum(i, j) = reference::exp(z(i, j) - sum);
        no_exp(i, j) = z(i, j) / sum;
      }
    }
    all.push_back({"exponent-of-the-sum",
                   "the denominator is the sum of the exponentials; here it is the exponential of "
                   "the sum",
                   of_sum});
    all.push_back({"not-normalised", "the exponentials were not divided by their sum", exps});
    all.push_back(
        {"no-exponential", "the scores were divided by their sum without the exponential", no_exp});
  }

  void weights() {
    for (const Way& way : ways()) consider(way.weights, way.key, way.diagnosis);
  }

  void output() {
    const std::vector<Matrix> in = ledger_.inputs(*node_, hypothesis_);
    if (in[0].rows == in[0].cols)
      consider(multiply(transpose(in[0]), in[1]), "transposed-weights-of-values",
               "columns of A were used instead of its rows: this is Aᵀ·V");
    if (has("Z"))
      consider(times(multiply(in[0], in[1]), trace_.at("Z", step_.batch, step_.head).parameter),
               "scaled-after-softmax",
               "the output was divided by " + root_of_d_k() +
                   ": the scale belongs to the scores, before the softmax");
    for (const Way& way : ways()) consider(multiply(way.weights, in[1]), way.key, way.diagnosis);
  }

  void concatenated() {
    const std::vector<Matrix> heads = ledger_.inputs(*node_, hypothesis_);
    std::vector<const Matrix*> order;
    for (const Matrix& m : heads) order.push_back(&m);
    std::vector<std::size_t> permutation(heads.size());
    for (std::size_t h = 0; h < heads.size(); ++h) permutation[h] = h;
    constexpr std::size_t kMostHeads = 6;  // 720 orders
    while (heads.size() <= kMostHeads &&
           std::next_permutation(permutation.begin(), permutation.end())) {
      std::vector<const Matrix*> other;
      std::string said;
      for (const std::size_t h : permutation) {
        other.push_back(order[h]);
        said += (said.empty() ? "" : ", ") + std::to_string(h + 1);
      }
      consider(concatenate(other), "concat-order", "the heads stand in the wrong order: " + said);
    }
    const std::size_t cols = heads.front().cols;
    Matrix interleaved(heads.front().rows, cols * heads.size());
    for (std::size_t i = 0; i < interleaved.rows; ++i)
      for (std::size_t h = 0; h < heads.size(); ++h)
        for (std::size_t c = 0; c < cols; ++c)
          interleaved(i, c * heads.size() + h) = heads[h](i, c);
    consider(interleaved, "concat-order",
             "the heads are interleaved column by column; they stand side by side");
  }

  const Trace& trace_;
  const Ledger& ledger_;
  const ClaimedStep& step_;
  const Hypothesis& hypothesis_;
  const Matches& matches_;
  const Node* node_ = nullptr;
  std::optional<Mistake> found_;
};

// "-1*2 + 1*0 + 1*(-1)" as pairs of factors; nothing if it is no sum of products of two numbers.
class SpelledSum {
 public:
  explicit SpelledSum(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {  // one spelling of each sign, no spaces or brackets
      const auto is = [&](std::string_view sign) { return text.substr(i).starts_with(sign); };
      if (is("−"))
        text_ += '-', i += 3;
      else if (is("·") || is("×"))
        text_ += '*', i += 2;
      else if (text[i] == ' ' || text[i] == '(' || text[i] == ')')
        ++i;
      else
        text_ += text[i++];
    }
  }

  std::optional<std::vector<std::pair<double, double>>> pairs() {
    std::vector<std::pair<double, double>> result;
    while (at_ < text_.size()) {
      double sign = 1;
      if (!result.empty()) {
        if (text_[at_] == '-')
          sign = -1;
        else if (text_[at_] != '+')
          return {};
        ++at_;
      }
      const std::optional<double> a = number();
      if (!a || at_ >= text_.size() || text_[at_++] != '*') return {};
      const std::optional<double> b = number();
      if (!b) return {};
      result.emplace_back(sign * *a, *b);
    }
    return result;
  }

 private:
  std::optional<double> number() {
    const char *first = text_.data() + at_, *last = text_.data() + text_.size();
    double value = 0;
    const auto parsed = from_chars(first, last, value);
    if (parsed.ec != std::errc()) return {};
    at_ += static_cast<std::size_t>(parsed.ptr - first);
    return value;
  }

  std::string text_;
  std::size_t at_ = 0;
};

std::string shown(double value) {
  return format(value, NumberStyle{});
}
std::string shown(double a, double b) {
  return to_text(product(number(a), number(b)), NumberStyle{});
}

}  // namespace

std::optional<Mistake> recognise(const Trace& trace, const Ledger& ledger, const ClaimedStep& step,
                                 const Hypothesis& hypothesis, const Matches& matches) {
  return Recogniser(trace, ledger, step, hypothesis, matches).run();
}

std::optional<Mistake> wrong_product(const Trace& trace, const Ledger& ledger, const Node& node,
                                     std::size_t i, std::size_t j, const Hypothesis& hypothesis,
                                     const std::function<bool(double)>& near) {
  (void)trace;
  if (node.op != Op::matmul) return {};
  const std::vector<Matrix> in = ledger.inputs(node, hypothesis);
  const auto b = [&](std::size_t k) { return node.transposed ? in[1](j, k) : in[1](k, j); };
  double sum = in.size() > 2 ? in[2](0, j) : 0;
  for (std::size_t k = 0; k < in[0].cols; ++k) sum += in[0](i, k) * b(k);
  for (std::size_t k = 0; k < in[0].cols; ++k) {
    const double x = in[0](i, k), y = b(k), rest = sum - x * y;
    if (x * y != 0 && near(rest))
      return Mistake{"product-left-out", "the product " + shown(x, y) + " was left out"};
    if (x * y != 0 && near(rest - x * y))
      return Mistake{"product-sign", "the product " + shown(x, y) + " has the wrong sign"};
    if (x + y != x * y && near(rest + x + y))
      return Mistake{"product-as-sum",
                     shown(x) + " and " + shown(y) + " were added where they are to be multiplied"};
    if (x * y != 0 && near(sum + x * y))
      return Mistake{"product-twice", "the product " + shown(x, y) + " was counted twice"};
  }
  return {};
}

std::optional<Mistake> wrong_spelling(const Trace& trace, const Node& node, std::size_t i,
                                      std::size_t j, const std::string& spelled) {
  const Expansion right = expand(trace, node, i, j);
  if (right.terms.empty()) return {};
  const auto pairs = SpelledSum(spelled).pairs();
  const std::string expected = to_text(right.substitution, NumberStyle{});
  if (!pairs || pairs->size() != right.terms.size())
    return Mistake{"spelled", "the working \"" + spelled + "\" does not have the form " + expected};
  for (std::size_t k = 0; k < pairs->size(); ++k) {
    const auto& [a, b] = (*pairs)[k];
    const Term& term = right.terms[k];
    const bool same = (a == term.a && b == term.b) || (a == term.b && b == term.a);
    if (!same)
      return Mistake{"spelled", "product " + std::to_string(k + 1) + " is spelled " + shown(a, b) +
                                    ", expected " + shown(term.a, term.b)};
  }
  return {};
}

}  // namespace heed::explain
