#include "trace/expression.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heed::explain {
namespace {

using Kind = Expression::Kind;

Expression make(Kind kind, std::vector<Expression> args) {
  Expression e;
  e.kind = kind;
  e.args = std::move(args);
  return e;
}

bool is_negative_number(const Expression& e) {
  return e.kind == Kind::number && e.value < 0;
}

std::string joined_indices(const std::vector<std::size_t>& index, std::string_view separator) {
  const bool wide = std::any_of(index.begin(), index.end(), [](std::size_t i) { return i > 9; });
  std::string text;
  for (const std::size_t i : index) {
    if (wide && !text.empty()) text += separator;
    text += std::to_string(i);
  }
  return text;
}

// How one notation writes each part; the walk over the formula is common to both.
class Writer {
 public:
  explicit Writer(const NumberStyle& style) : style_(style) {}
  virtual ~Writer() = default;

  std::string write(const Expression& e) const {
    switch (e.kind) {
      case Kind::number: return number(e.value);
      case Kind::symbol: return symbol(e);
      case Kind::sum: return sum(e);
      case Kind::product: return factor(e.args[0], true) + dot() + factor(e.args[1], false);
      case Kind::quotient: return quotient(e);
      case Kind::negative: return minus() + operand(e.args[0]);
      case Kind::root: return root(e.args[0]);
      case Kind::power: return power(e);
      case Kind::call: return function(e.name) + parenthesised(write(e.args[0]));
      case Kind::absolute: return "|" + write(e.args[0]) + "|";
      case Kind::ellipsis: return dots();
      case Kind::text: return words(e.name);
    }
    return "";
  }

 protected:
  virtual std::string symbol(const Expression& e) const = 0;
  virtual std::string quotient(const Expression& e) const = 0;
  virtual std::string root(const Expression& radicand) const = 0;
  virtual std::string power(const Expression& e) const = 0;
  virtual std::string number(double value) const = 0;
  virtual std::string function(const std::string& name) const { return name; }
  virtual std::string words(const std::string& text) const { return text; }
  virtual std::string parenthesised(const std::string& text) const { return "(" + text + ")"; }
  virtual std::string dot() const = 0;
  virtual std::string minus() const = 0;
  virtual std::string dots() const = 0;

  // A negative number inside a product, and anything compound under an operator, in parentheses.
  std::string factor(const Expression& e, bool first) const {
    const bool enclose = e.kind == Kind::sum || (!first && is_negative_number(e));
    return enclose ? parenthesised(write(e)) : write(e);
  }
  std::string operand(const Expression& e) const {
    const bool enclose = e.kind == Kind::sum || e.kind == Kind::quotient || is_negative_number(e);
    return enclose ? parenthesised(write(e)) : write(e);
  }

  std::string sum(const Expression& e) const {
    std::string text;
    for (const Expression& term : e.args) {
      const bool first = text.empty();
      if (term.kind == Kind::negative) {
        text += (first ? "" : " ") + minus() + (first ? "" : " ") + operand(term.args[0]);
      } else if (!first && is_negative_number(term)) {
        text += " " + minus() + " " + number(-term.value);
      } else {
        const bool opens_negative =
            !first && term.kind == Kind::product && is_negative_number(term.args[0]);
        text += first ? "" : " + ";
        text += opens_negative
                    ? parenthesised(write(term.args[0])) + dot() + factor(term.args[1], false)
                    : write(term);
      }
    }
    return text;
  }

  const NumberStyle style_;
};

class TextWriter final : public Writer {
 public:
  using Writer::Writer;

 private:
  std::string symbol(const Expression& e) const override {
    std::string name = e.name.substr(0, e.name.find('^'));
    if (e.index.empty()) return name;
    const std::string indices = joined_indices(e.index, ",");
    if (style_.ascii) return name + "_" + indices;
    std::string text = name;
    for (const char c : indices) {
      if (c == ',')
        text += ',';
      else
        text += {'\xe2', '\x82', static_cast<char>(0x80 + (c - '0'))};  // U+2080 and on
    }
    return text;
  }
  std::string quotient(const Expression& e) const override {
    return factor(e.args[0], true) + " / " + operand(e.args[1]);
  }
  std::string root(const Expression& radicand) const override {
    const bool plain = radicand.kind == Kind::number || radicand.kind == Kind::symbol;
    const std::string inner = plain ? write(radicand) : parenthesised(write(radicand));
    return style_.ascii ? "sqrt" + (plain ? parenthesised(inner) : inner) : "√" + inner;
  }
  std::string power(const Expression& e) const override {
    const Expression& exponent = e.args[1];
    const bool plain = exponent.kind == Kind::number && exponent.value >= 0;
    return write(e.args[0]) + "^" + (plain ? write(exponent) : parenthesised(write(exponent)));
  }
  std::string number(double value) const override { return format(value, style_); }
  std::string dot() const override { return style_.ascii ? "*" : "·"; }
  std::string minus() const override { return style_.ascii ? "-" : "−"; }
  std::string dots() const override { return style_.ascii ? "..." : "…"; }
};

class LatexWriter final : public Writer {
 public:
  using Writer::Writer;

 private:
  std::string symbol(const Expression& e) const override {
    const std::size_t caret = e.name.find('^');
    std::string text = e.name.substr(0, caret);
    if (text.size() > 1) text = "\\mathrm{" + text + "}";
    if (!e.index.empty()) text += "_{" + joined_indices(e.index, ",") + "}";
    if (caret != std::string::npos) text += "^{" + e.name.substr(caret + 1) + "}";
    return text;
  }
  std::string quotient(const Expression& e) const override {
    return "\\frac{" + write(e.args[0]) + "}{" + write(e.args[1]) + "}";
  }
  std::string root(const Expression& radicand) const override {
    return "\\sqrt{" + write(radicand) + "}";
  }
  std::string power(const Expression& e) const override {
    return write(e.args[0]) + "^{" + write(e.args[1]) + "}";
  }
  std::string number(double value) const override {
    if (std::isnan(value)) return "\\mathrm{NaN}";
    if (std::isinf(value)) return value < 0 ? "-\\infty" : "\\infty";
    NumberStyle plain = style_;
    plain.ascii = true;
    std::string text = format(value, plain);
    const std::size_t e = text.find('e');
    if (e == std::string::npos) return text;
    const std::string exponent = std::to_string(std::stoi(text.substr(e + 1)));
    return text.substr(0, e) + " \\times 10^{" + exponent + "}";
  }
  std::string function(const std::string& name) const override { return "\\" + name; }
  std::string words(const std::string& text) const override { return "\\text{" + text + "}"; }
  std::string parenthesised(const std::string& text) const override {
    return "\\left(" + text + "\\right)";
  }
  std::string dot() const override { return " \\cdot "; }
  std::string minus() const override { return "-"; }
  std::string dots() const override { return "\\cdots"; }
};

}  // namespace

Expression number(double value) {
  Expression e;
  e.value = value;
  return e;
}

Expression symbol(std::string name, std::vector<std::size_t> index) {
  Expression e;
  e.kind = Kind::symbol;
  e.name = std::move(name);
  e.index = std::move(index);
  return e;
}

Expression sum(std::vector<Expression> terms) {
  return make(Kind::sum, std::move(terms));
}
Expression product(Expression a, Expression b) {
  return make(Kind::product, {std::move(a), std::move(b)});
}
Expression quotient(Expression a, Expression b) {
  return make(Kind::quotient, {std::move(a), std::move(b)});
}
Expression negative(Expression a) {
  return make(Kind::negative, {std::move(a)});
}
Expression root(Expression a) {
  return make(Kind::root, {std::move(a)});
}
Expression exponential(Expression exponent) {
  return make(Kind::power, {symbol("e"), std::move(exponent)});
}
Expression call(std::string name, Expression argument) {
  Expression e = make(Kind::call, {std::move(argument)});
  e.name = std::move(name);
  return e;
}
Expression absolute(Expression a) {
  return make(Kind::absolute, {std::move(a)});
}
Expression ellipsis(std::size_t left_out) {
  Expression e = make(Kind::ellipsis, {});
  e.value = static_cast<double>(left_out);
  return e;
}
Expression words(std::string text) {
  Expression e = make(Kind::text, {});
  e.name = std::move(text);
  return e;
}

std::string to_text(const Expression& expression, const NumberStyle& style) {
  return TextWriter(style).write(expression);
}

std::string to_latex(const Expression& expression, const NumberStyle& style) {
  return LatexWriter(style).write(expression);
}

bool is_exact(const Expression& expression, const NumberStyle& style) {
  if (expression.kind == Kind::number) return is_exact(expression.value, style);
  return std::all_of(expression.args.begin(), expression.args.end(),
                     [&](const Expression& arg) { return is_exact(arg, style); });
}

bool is_absent(const Expression& expression) {
  return expression.kind == Kind::sum && expression.args.empty();
}

std::vector<WorkedLine> worked_lines(const Expansion& expansion, const NumberStyle& style) {
  std::vector<WorkedLine> lines;
  bool exact = true;
  std::string before;
  for (const Expression* right :
       {&expansion.symbols, &expansion.substitution, &expansion.products, &expansion.result}) {
    if (is_absent(*right)) continue;
    const std::string text = to_text(*right, style);
    if (text == before) continue;
    before = text;
    exact = exact && is_exact(*right, style);
    lines.push_back({exact, right});
  }
  return lines;
}

}  // namespace heed::explain
