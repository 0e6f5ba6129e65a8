#include "trace/masks.h"

#include <algorithm>
#include <limits>

namespace heed::explain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Entry of a [n_q or 1, n_k] matrix.
double broadcast(const Matrix& m, std::size_t i, std::size_t j) {
  return m(m.rows == 1 ? 0 : i, j);
}

}  // namespace

std::vector<std::string> mask_names(const Trace& trace, std::size_t batch) {
  const Problem& p = trace.problem;
  const Sequence& s = p.sequences[batch];
  std::vector<std::string> names;
  if (p.causal) names.push_back("causal mask");
  if (p.window_left || p.window_right) names.push_back("window");
  if (s.key_length) names.push_back("padding mask");
  if (!s.mask.empty()) names.push_back("given mask");
  if (std::count(s.bias.values.begin(), s.bias.values.end(), -kInf) > 0)
    names.push_back("bias of −∞");
  return names;
}

std::string join_masks(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string hidden_by(const Trace& trace, std::size_t batch, std::size_t i, std::size_t j) {
  const Problem& p = trace.problem;
  const Sequence& s = p.sequences[batch];
  const auto key = static_cast<double>(j);
  const double position = static_cast<double>(i) + static_cast<double>(trace.offsets[batch]);
  if (s.key_length && j >= *s.key_length) return "padding mask";
  if (p.causal && key > position) return "causal mask";
  if (p.window_left && key < position - static_cast<double>(*p.window_left)) return "window";
  if (p.window_right && key > position + static_cast<double>(*p.window_right)) return "window";
  if (!s.mask.empty() && broadcast(s.mask, i, j) == 0) return "given mask";
  if (!s.bias.empty() && broadcast(s.bias, i, j) == -kInf) return "bias of −∞";
  return "";
}

}  // namespace heed::explain
