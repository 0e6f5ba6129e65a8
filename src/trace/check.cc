// Marking a solution: each claim against the truth, against what follows from the claims before it,
// and, where it is neither, against the known mistakes.
#include "heed/check.h"

#include <algorithm>
#include <cmath>

#include "trace/format.h"
#include "trace/ledger.h"
#include "trace/mistakes.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

// Rounding of the double arithmetic itself, far below any written digit.
constexpr double kSlack = 1e-9;

// Whether `claim` is a value between `a` and `b` as its digits show it. a is the true value and b
// what follows from the rounded numbers before it: whoever goes on from those is right too.
bool near(const Claim& claim, double a, double b) {
  if (std::isnan(claim.value)) return std::isnan(a);
  if (std::isinf(claim.value) || std::isinf(a) || std::isinf(b))
    return claim.value == a || claim.value == b;
  const double slack = claim.unit / 2 + kSlack * std::max(1.0, std::abs(a));
  return claim.value >= std::min(a, b) - slack && claim.value <= std::max(a, b) + slack;
}

class Checker {
 public:
  explicit Checker(const Trace& trace) : trace_(trace), ledger_(trace), mistakes_(trace) {}

  CheckReport run(const Solution& solution) {
    for (const ClaimedStep& step : solution.steps) {
      if (step.values.empty())
        shape(step);
      else
        values(step);
    }
    count();
    return std::move(report_);
  }

 private:
  std::string where(const ClaimedStep& step, std::size_t i, std::size_t j) const {
    const Node* node = trace_.find(step.id, step.batch, step.head);
    const Node* labels = node != nullptr ? node : &trace_.at("A", step.batch, step.head);
    const auto label = [](const std::vector<std::string>& all, std::size_t k) {
      return k < all.size() ? unique_labels(all)[k] : std::to_string(k + 1);
    };
    std::string text = step.id;
    if (step.id == "root") return text;
    if (step.id == "max" || step.id == "sum") {
      text += "[" + label(labels->row_labels, i) + "]";
    } else if (step.id == "weighted") {
      text += "[" + label(labels->col_labels, i) + "," + std::to_string(j + 1) + "] of " +
              label(labels->row_labels, step.of);
    } else {
      text += "[" + label(labels->row_labels, i) + "," + label(labels->col_labels, j) + "]";
    }
    if (trace_.sizes.heads > 1 && !labels->every_head)
      text += " of head " + std::to_string(step.head + 1);
    if (trace_.sizes.batch > 1 && !labels->every_batch)
      text += " of sequence " + std::to_string(step.batch + 1);
    return text;
  }

  Finding finding(const ClaimedStep& step, std::size_t i, std::size_t j, const Claim& claim) const {
    Finding f;
    f.id = step.id;
    f.batch = step.batch;
    f.head = step.head;
    f.row = i;
    f.col = j;
    f.where = where(step, i, j);
    f.written = claim.text;
    f.tolerance = claim.unit / 2;
    f.line = claim.line;
    return f;
  }

  void shape(const ClaimedStep& step) {
    const Node& node = trace_.at(step.id, step.batch, step.head);
    Finding f;
    f.id = step.id;
    f.batch = step.batch;
    f.head = step.head;
    f.line = step.line;
    f.where = "shape of " + step.id;
    f.written = shape_text(step.rows, step.cols);
    const bool right = step.rows == node.values.rows && step.cols == node.values.cols;
    f.mark = right ? Mark::correct : Mark::wrong;
    if (!right) {
      f.mistake = "shape";
      f.diagnosis = step.id + " is " + shape_text(node.values.rows, node.values.cols) + ", not " +
                    shape_text(step.rows, step.cols);
    }
    report_.findings.push_back(std::move(f));
  }

  // The entries of a claimed block in the whole matrix.
  template <class F>
  static void for_each(const ClaimedStep& step, F f) {
    for (std::size_t i = 0; i < step.rows; ++i)
      for (std::size_t j = 0; j < step.cols; ++j)
        f(step.values[i * step.cols + j], step.row + i, step.col + j);
  }

  static std::size_t matches(const ClaimedStep& step, const Matrix& a, const Matrix& b) {
    std::size_t count = 0;
    for_each(step, [&](const Claim& claim, std::size_t i, std::size_t j) {
      if (!claim.text.empty() && near(claim, a(i, j), b(i, j))) ++count;
    });
    return count;
  }

  // What a hypothesis says of a step: the answer, of all right ways, that fits most claims.
  struct Answer {
    Matrix truth;  // unrounded, with the supposed mistakes and no other
    Matrix given;  // from the numbers as written
    std::size_t matched = 0;
  };
  Answer answer(const ClaimedStep& step, const Hypothesis& hypothesis) const {
    const std::vector<Matrix> truths = mistakes_.computed(step, hypothesis);
    const std::vector<Matrix> givens = ledger_.computed(step, hypothesis);
    Answer best;
    for (std::size_t way = 0; way < truths.size(); ++way) {
      const std::size_t matched = matches(step, truths[way], givens[way]);
      if (way == 0 || matched > best.matched) best = {truths[way], givens[way], matched};
    }
    return best;
  }

  void values(const ClaimedStep& step) {
    const Answer right = answer(step, {});
    Hypothesis supposed;
    Answer carried = right;
    for (const Hypothesis& hypothesis : hypotheses()) {
      Answer other = answer(step, hypothesis);
      if (other.matched > carried.matched) {
        carried = std::move(other);
        supposed = hypothesis;
      }
    }
    settle(step, supposed, right);
    const std::size_t first = report_.findings.size();
    for_each(step, [&](const Claim& claim, std::size_t i, std::size_t j) {
      Finding f = finding(step, i, j, claim);
      f.expected = right.truth(i, j);
      f.given = carried.given(i, j);
      if (claim.text.empty())
        f.mark = Mark::missing;
      else if (near(claim, right.truth(i, j), right.given(i, j)))
        f.mark = Mark::correct;
      else if (near(claim, carried.truth(i, j), carried.given(i, j)))
        f.mark = Mark::carried;
      else
        f.mark = Mark::wrong;
      report_.findings.push_back(std::move(f));
    });
    diagnose(step, first, supposed);
    record(step, first, supposed);
    spelled(step, first);
  }

  // All outstanding mistakes carried on; and each of them alone.
  std::vector<Hypothesis> hypotheses() const {
    std::vector<Hypothesis> all;
    if (outstanding_.empty()) return all;
    all.push_back(outstanding_);
    constexpr std::size_t kMostAlone = 16;  // a page full of mistakes is not worth more
    for (const std::size_t wrong : outstanding_)
      if (outstanding_.size() > 1 && all.size() <= kMostAlone) all.push_back({wrong});
    return all;
  }

  // Tells, of the wrong numbers so far, which this step went on with and which it did not.
  void settle(const ClaimedStep& step, const Hypothesis& supposed, const Answer& right) {
    const Hypothesis before = outstanding_;
    for (const std::size_t wrong : before) {
      Finding& f = report_.findings[wrong];
      if (supposed.contains(wrong)) {
        f.later_used = f.carried_on = true;
        continue;
      }
      const bool again = f.id == step.id && f.batch == step.batch && f.head == step.head;
      const Matrix with = again ? right.given : answer(step, {wrong}).given;
      bool tells = false;
      for_each(step, [&](const Claim& claim, std::size_t i, std::size_t j) {
        if (claim.text.empty()) return;
        if (again)
          tells = tells || (i == f.row && j == f.col);
        else
          tells = tells || (near(claim, right.truth(i, j), right.given(i, j)) &&
                            !near(claim, with(i, j), with(i, j)));
      });
      if (!tells) continue;
      f.later_used = true;
      if (!f.carried_on) outstanding_.erase(wrong);
    }
  }

  // Names the known mistake behind the wrong entries of a step, as a whole or one by one.
  void diagnose(const ClaimedStep& step, std::size_t first, const Hypothesis& supposed) {
    const auto wrong = [](const Finding& f) { return f.mark == Mark::wrong; };
    auto& all = report_.findings;
    if (std::none_of(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), wrong)) return;
    const std::size_t written = static_cast<std::size_t>(std::count_if(
        step.values.begin(), step.values.end(), [](const Claim& c) { return !c.text.empty(); }));
    const Matches whole = [&](const Matrix& m) { return matches(step, m, m) == written; };
    // Going on from the numbers as written, from unrounded ones, or from an earlier mistake.
    std::optional<Mistake> mistake = recognise(trace_, ledger_, step, {}, whole);
    if (!mistake) mistake = recognise(trace_, mistakes_, step, {}, whole);
    if (!mistake && !supposed.empty()) mistake = recognise(trace_, ledger_, step, supposed, whole);
    const Node* node = trace_.find(step.id, step.batch, step.head);
    std::size_t at = first;
    for_each(step, [&](const Claim& claim, std::size_t i, std::size_t j) {
      Finding& f = all[at++];
      if (!wrong(f)) return;
      std::optional<Mistake> found = mistake;
      if (!found && node != nullptr)
        found = wrong_product(trace_, ledger_, *node, i, j, supposed,
                              [&](double value) { return near(claim, value, value); });
      if (!found) return;
      f.mistake = found->key;
      f.diagnosis = found->diagnosis;
    });
  }

  void record(const ClaimedStep& step, std::size_t first, const Hypothesis& supposed) {
    std::size_t at = first;
    for_each(step, [&](const Claim& claim, std::size_t i, std::size_t j) {
      const std::size_t index = at++;
      switch (report_.findings[index].mark) {
        case Mark::missing: break;
        case Mark::correct: ledger_.write(step, i, j, claim.value, {}); break;
        case Mark::carried: ledger_.write(step, i, j, claim.value, supposed); break;
        case Mark::wrong:
          ledger_.write(step, i, j, claim.value, {index});
          mistakes_.write(step, i, j, claim.value, {index});
          outstanding_.insert(index);
          break;
      }
    });
  }

  // A working that is spelled wrong is a slip of its own, even where the number is right.
  void spelled(const ClaimedStep& step, std::size_t first) {
    const Node* node = trace_.find(step.id, step.batch, step.head);
    std::size_t at = first;
    for_each(step, [&](const Claim& claim, std::size_t i, std::size_t j) {
      const std::size_t index = at++;
      if (claim.spelled.empty() || node == nullptr) return;
      const std::optional<Mistake> mistake = wrong_spelling(trace_, *node, i, j, claim.spelled);
      if (!mistake) return;
      Finding f = report_.findings[index];
      const bool number_right = f.mark == Mark::correct;
      f.mark = Mark::wrong;
      f.where = "the working of " + f.where;
      f.written = claim.spelled;
      f.mistake = mistake->key;
      f.diagnosis = mistake->diagnosis;
      if (number_right) {
        f.diagnosis += "; the sum is the same";
        f.later_used = true;
      }
      report_.findings.push_back(std::move(f));
    });
  }

  void count() {
    for (std::size_t index = 0; index < report_.findings.size(); ++index) {
      switch (report_.findings[index].mark) {
        case Mark::correct: ++report_.correct; break;
        case Mark::carried: ++report_.carried; break;
        case Mark::missing: ++report_.missing; break;
        case Mark::wrong:
          ++report_.wrong;
          if (!report_.first_wrong) report_.first_wrong = index;
          break;
      }
    }
  }

  const Trace& trace_;
  Ledger ledger_;           // everything written so far
  Ledger mistakes_;         // of that, what is wrong
  Hypothesis outstanding_;  // wrong numbers that later steps may have gone on with
  CheckReport report_;
};

}  // namespace

std::string_view name_of(Mark mark) {
  switch (mark) {
    case Mark::correct: return "correct";
    case Mark::wrong: return "wrong";
    case Mark::carried: return "carried";
    case Mark::missing: return "missing";
  }
  return "?";
}

CheckReport check(const Trace& trace, const Solution& solution) {
  return Checker(trace).run(solution);
}

}  // namespace heed::explain
