// check: marks a hand-worked solution like a good teacher. diff: compares two traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/trace.h"

namespace heed::explain {

// A number as it was written: its last digit says how precisely.
struct Claim {
  std::string text;     // "0.71"; empty: left out
  double value = 0;     //
  double unit = 0;      // one unit of the last written digit: 0.01; 0: an integer, meant exactly
  std::string spelled;  // the working, where it is given: "-1*2 + 1*0 + 1*(-1)"
  std::size_t line = 0;
};

// Claimed values of one step, whole or in part. Several claims may be made about the same step.
struct ClaimedStep {
  // Of a node; or "root" (√d_k) [1, 1]; of the softmax rows "max" and "sum" [n_q, 1], "shifted" and
  // "exp" [n_q, n_k]; or "weighted", the rows a_ij v_j that add up to row `of` of O [n_k, d_v].
  std::string id;
  std::size_t batch = 0, head = 0, of = 0;
  std::size_t row = 0, col = 0;    // where `values` begins
  std::size_t rows = 0, cols = 0;  // of `values`, or the shape that is claimed instead of them
  std::vector<Claim> values;       // [rows, cols]; empty: a claim about the shape alone
  std::size_t line = 0;
};

struct Solution {
  std::string title;
  std::vector<ClaimedStep> steps;  // in the order they are written
};

// A solution file (docs/problem-files.md): {"V": [[1, 2], ...], "exp": ...}, marked in the order of
// the work; or, where a step is written twice or in part, {"steps": [{"S": [[0, 1, 2]], "row": 0},
// ...]}, marked in the order written.
Solution parse_solution(std::string_view json, const Trace& trace,
                        std::string_view name = "solution");

// The solution inside a problem file, under "solution"; none if there is none.
std::optional<Solution> solution_of_problem(std::string_view json, const Trace& trace,
                                            std::string_view name = "problem");

enum class Mark : std::uint8_t { correct, wrong, carried, missing };
std::string_view name_of(Mark mark);

struct Finding {
  Mark mark = Mark::correct;
  std::string id;
  std::size_t batch = 0, head = 0, row = 0, col = 0;
  std::string where;     // "V[love,1]"
  std::string written;   // "2"
  double expected = 0;   // the true value
  double given = 0;      // what follows from what was written before
  double tolerance = 0;  // half a unit of the last digit, and the rounding carried in
  std::size_t line = 0;
  // Of a wrong one.
  bool carried_on = false;  // later steps use it; otherwise a slip of the pen
  bool later_used = false;  // whether any later step tells
  std::string mistake;      // key of a known mistake: "no-scale", "softmax-columns", ...; or empty
  std::string diagnosis;    // in words
};

struct CheckReport {
  std::vector<Finding> findings;  // one per claim, in the order written
  std::size_t correct = 0, wrong = 0, carried = 0, missing = 0;
  std::optional<std::size_t> first_wrong;  // index into findings
  bool passed() const { return wrong == 0 && carried == 0 && missing == 0; }
};
CheckReport check(const Trace& trace, const Solution& solution);
std::string render_text(const Trace& trace, const CheckReport& report);
std::string to_json(const CheckReport& report);

// Entries of two traces that differ by more than `tolerance` (relative to the larger, and to 1).
struct Difference {
  std::string id;
  std::size_t batch = 0, head = 0, row = 0, col = 0;
  double a = 0, b = 0;
};
struct DiffReport {
  std::vector<std::string> shape;       // what cannot be compared, in words
  std::vector<std::string> same;        // nodes without a difference, as "V", "Q head 2"
  std::vector<Difference> differences;  // in dependency order
};
DiffReport diff(const Trace& a, const Trace& b, double tolerance = 0);
std::string render_text(const Trace& a, const Trace& b, const DiffReport& report);
std::string to_json(const DiffReport& report);

}  // namespace heed::explain
