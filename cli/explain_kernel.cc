#include "cli/explain_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "heed/attention.h"

namespace heed::cli {
namespace {

using namespace heed::explain;

// The heads of one tensor, as floats.
std::vector<float> packed(const Trace& trace, std::string_view id, std::size_t batch,
                          std::size_t heads, std::size_t stride) {
  std::vector<float> values;
  for (std::size_t h = 0; h < heads; ++h)
    for (const double x : trace.at(id, batch, h * stride).values.values)
      values.push_back(static_cast<float>(x));
  return values;
}

// How many floats lie between the two; 0 when they are the same or both NaN.
double ulps_between(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : INFINITY;
  const auto ordered = [](float x) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(x));
    return bits < 0x80000000LL ? bits : 0x80000000LL - bits;
  };
  return static_cast<double>(std::llabs(ordered(a) - ordered(b)));
}

KernelResult compared(const Trace& trace, std::size_t batch, std::size_t head, const float* out) {
  const Matrix& truth = trace.at("O", batch, head).values;
  KernelResult result;
  result.batch = batch;
  result.head = head;
  result.values = Matrix(truth.rows, truth.cols);
  std::size_t worst = 0;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    result.values.values[n] = out[n];
    const double ulps = ulps_between(out[n], static_cast<float>(truth.values[n]));
    if (ulps > result.ulps) {
      result.ulps = ulps;
      worst = n;
    }
  }
  result.where = "O[" + std::to_string(worst / truth.cols + 1) + "," +
                 std::to_string(worst % truth.cols + 1) + "]";
  return result;
}

// The options of one sequence; what their views point at.
struct KernelOptions {
  std::unique_ptr<bool[]> mask;
  std::vector<float> bias;
  std::array<std::int64_t, 1> length = {};
  AttentionOptions options;

  KernelOptions(const Problem& p, const Sequence& s, std::size_t n_k) {
    options.scale = p.scale;
    options.softcap = p.softcap;
    options.causal = p.causal;
    options.query_offset = p.query_offset;
    options.window_left = p.window_left;
    options.window_right = p.window_right;
    options.alibi_slopes = p.alibi_slopes;
    options.sinks = p.sinks;
    length[0] = static_cast<std::int64_t>(s.key_length.value_or(n_k));
    options.key_lengths = length;
    if (!s.mask.empty()) {
      mask.reset(new bool[s.mask.values.size()]);
      std::transform(s.mask.values.begin(), s.mask.values.end(), mask.get(),
                     [](double x) { return x != 0; });
      options.mask = scores(mask.get(), 1, 1, s.mask.rows, s.mask.cols);
    }
    for (const double x : s.bias.values) bias.push_back(static_cast<float>(x));
    if (!bias.empty()) options.bias = scores(bias.data(), 1, 1, s.bias.rows, s.bias.cols);
  }
};

}  // namespace

KernelComparison run_kernel(const Trace& trace) {
  KernelComparison comparison;
  if (trace.find("O") == nullptr) return comparison;
  const Sizes& z = trace.sizes;
  const std::size_t group = z.heads / z.kv_heads;
  const std::string value = trace.problem.values == Problem::Values::keys ? "K" : "V";
  for (std::size_t b = 0; b < z.batch; ++b) {
    const Matrix &q = trace.at("Q", b).values, &k = trace.at("K", b).values;
    const Matrix& v = trace.at(value, b).values;
    const auto q_values = packed(trace, "Q", b, z.heads, 1);
    const auto k_values = packed(trace, "K", b, z.kv_heads, group);
    const auto v_values = packed(trace, value, b, z.kv_heads, group);
    std::vector<float> out(z.heads * q.rows * v.cols);
    const KernelOptions options(trace.problem, trace.problem.sequences[b], k.rows);
    const ConstTensorView q_view = bhnd(q_values.data(), 1, z.heads, q.rows, q.cols);
    const ConstTensorView k_view = bhnd(k_values.data(), 1, z.kv_heads, k.rows, k.cols);
    const ConstTensorView v_view = bhnd(v_values.data(), 1, z.kv_heads, v.rows, v.cols);
    Plan plan(q_view, k_view, v_view, options.options);
    plan.run(q_view, k_view, v_view, bhnd(out.data(), 1, z.heads, q.rows, v.cols), {},
             options.options);
    comparison.target = plan.info().kernel + ", " + plan.info().target;
    for (std::size_t h = 0; h < z.heads; ++h)
      comparison.results.push_back(compared(trace, b, h, out.data() + h * q.rows * v.cols));
  }
  return comparison;
}

}  // namespace heed::cli
