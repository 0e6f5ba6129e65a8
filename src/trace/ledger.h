// The ledger of a check: what has been written so far, and what each step gives if one goes on from
// it.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "heed/check.h"

namespace heed::explain {

// Wrong numbers, by index into the findings, that later steps are supposed to have used. Whatever
// is wrong but not in it is supposed to have been a slip of the pen.
using Hypothesis = std::set<std::size_t>;

class Ledger {
 public:
  explicit Ledger(const Trace& trace) : trace_(trace) {}

  // A number as written. It counts under every hypothesis that contains `because`: empty for a
  // correct one.
  void write(const ClaimedStep& step, std::size_t row, std::size_t col, double value,
             Hypothesis because);

  // What `step` gives, whole, computed from what was written before; not from what was written
  // about the step itself. Several answers where several ways are right: exp(z) and exp(z - max).
  std::vector<Matrix> computed(const ClaimedStep& step, const Hypothesis& hypothesis) const;

  // The inputs of a node as this hypothesis has them.
  std::vector<Matrix> inputs(const Node& node, const Hypothesis& hypothesis) const;

  // A node's own values as this hypothesis has them.
  Matrix value(const Node& node, const Hypothesis& hypothesis) const;

 private:
  struct Written {
    std::size_t row = 0, col = 0;
    double value = 0;
    Hypothesis because;
  };
  using Key =
      std::tuple<std::string, std::size_t, std::size_t, std::size_t>;  // id, batch, head, of

  // Whether anything was written about the node or about what it comes from.
  bool touched(const Node& node) const;
  Matrix computed_node(const Node& node, const Hypothesis& hypothesis) const;
  Matrix weights(const Node& node, const Matrix& z, const Hypothesis& hypothesis) const;
  bool overwrite(const Key& key, const Hypothesis& hypothesis, Matrix& values,
                 std::vector<bool>* where = nullptr) const;
  static Key key_of(const std::string& id, const Node& node, std::size_t of = 0);

  const Trace& trace_;
  std::map<Key, std::vector<Written>> written_;
};

}  // namespace heed::explain
