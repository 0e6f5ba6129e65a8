// The mistakes people make when they work attention by hand, and how to recognise each.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "trace/ledger.h"

namespace heed::explain {

struct Mistake {
  std::string key;        // "no-scale", "softmax-columns", ...
  std::string diagnosis;  // one sentence, without the full stop
};

// Whether the claimed values of a step are those of `step` computed this way (whole matrix given).
using Matches = std::function<bool(const Matrix& whole)>;

// The known mistake that explains the whole of a claimed step, going on from what the hypothesis
// says was written before.
std::optional<Mistake> recognise(const Trace& trace, const Ledger& ledger, const ClaimedStep& step,
                                 const Hypothesis& hypothesis, const Matches& matches);

// The single product that makes entry (i, j) of a product of matrices come out as `written`.
// `near` tells whether a value rounds to what was written.
std::optional<Mistake> wrong_product(const Trace& trace, const Ledger& ledger, const Node& node,
                                     std::size_t i, std::size_t j, const Hypothesis& hypothesis,
                                     const std::function<bool(double)>& near);

// What is wrong in a spelled-out sum of products such as "-1*2 + 1*0", although it may come out
// right; nothing if every factor is as it should be.
std::optional<Mistake> wrong_spelling(const Trace& trace, const Node& node, std::size_t i,
                                      std::size_t j, const std::string& spelled);

}  // namespace heed::explain
