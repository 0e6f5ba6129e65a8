#include "kernels/kernel.h"

#include <algorithm>
#include <limits>

namespace heed::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::ptrdiff_t element(const ScoreView& view, std::size_t n, std::size_t head, std::size_t i,
                       std::size_t j) {
  return static_cast<std::ptrdiff_t>(n) * view.strides[0] +
         static_cast<std::ptrdiff_t>(head) * view.strides[1] +
         static_cast<std::ptrdiff_t>(i) * view.strides[2] +
         static_cast<std::ptrdiff_t>(j) * view.strides[3];
}

bool is_minus_infinity(const ScoreView& bias, std::ptrdiff_t at) {
  switch (bias.dtype) {
    case DType::f64:
      return static_cast<const double*>(bias.data)[at] == -static_cast<double>(kInfinity);
    case DType::f16: return to_float(static_cast<const f16*>(bias.data)[at]) == -kInfinity;
    case DType::bf16: return to_float(static_cast<const bf16*>(bias.data)[at]) == -kInfinity;
    default: return static_cast<const float*>(bias.data)[at] == -kInfinity;
  }
}

}  // namespace

ScoreRules score_rules(const Problem& problem, const AttentionOptions& options) {
  ScoreRules rules;
  rules.mod = options.score_mod;
  const double unit = rules.mod ? 1.0 : kLog2E;
  rules.unit = static_cast<float>(unit);
  rules.capped = options.softcap.has_value();
  if (rules.capped) {
    rules.query_scale = static_cast<float>(problem.scale / *options.softcap);
    rules.cap = static_cast<float>(*options.softcap * unit);
  } else {
    rules.query_scale = static_cast<float>(problem.scale * unit);
  }
  rules.bias = problem.bias;
  rules.mask = problem.mask;
  rules.slopes = options.alibi_slopes;
  return rules;
}

bool mask_hides(const ScoreRules& rules, std::size_t n, std::size_t head, std::size_t i,
                std::size_t j) {
  if (!rules.mask) return false;
  return static_cast<const std::uint8_t*>(rules.mask.data)[element(rules.mask, n, head, i, j)] == 0;
}

bool bias_hides(const ScoreRules& rules, std::size_t n, std::size_t head, std::size_t i,
                std::size_t j) {
  return rules.bias && is_minus_infinity(rules.bias, element(rules.bias, n, head, i, j));
}

float sink_of(const Run& run, std::size_t head) {
  return run.options->sinks.empty() ? -kInfinity : run.options->sinks[head];
}

void Crew::did(double work) {
  if (progress_.call == nullptr) return;
  const std::lock_guard lock(mutex_);
  done_ += work;
  if (cancelled()) return;
  const double part = work_ > 0 ? std::min(1.0, done_ / work_) : 1.0;
  if (!progress_.call(part, progress_.user)) cancelled_.store(true, std::memory_order_relaxed);
}

}  // namespace heed::kernels
