// Formulas as data: builders, and how they are written as text and as LaTeX.
#pragma once

#include <string>
#include <vector>

#include "heed/trace.h"
#include "trace/format.h"

namespace heed::explain {

Expression number(double value);
Expression symbol(std::string name, std::vector<std::size_t> index = {});  // indices 1-based
Expression sum(std::vector<Expression> terms);
Expression product(Expression a, Expression b);
Expression quotient(Expression a, Expression b);
Expression negative(Expression a);
Expression root(Expression a);
Expression exponential(Expression exponent);  // e to the ...
Expression call(std::string name, Expression argument);
Expression absolute(Expression a);
Expression ellipsis(std::size_t left_out);
Expression words(std::string text);

// "q₂₁·k₃₁ + q₂₂·k₃₂"; in ASCII "q_21*k_31 + q_22*k_32".
std::string to_text(const Expression& expression, const NumberStyle& style);
// "q_{21} \cdot k_{31} + q_{22} \cdot k_{32}"
std::string to_latex(const Expression& expression, const NumberStyle& style);

// Whether every number in it is shown exactly.
bool is_exact(const Expression& expression, const NumberStyle& style);

// Nothing to show: an expansion without that line.
bool is_absent(const Expression& expression);

// The working of an entry, line by line, each with the relation to the line before: "=", or "≈"
// from the first rounded number on. A line that repeats the one before is left out.
struct WorkedLine {
  bool exact = true;
  const Expression* right = nullptr;
};
std::vector<WorkedLine> worked_lines(const Expansion& expansion, const NumberStyle& style);

}  // namespace heed::explain
