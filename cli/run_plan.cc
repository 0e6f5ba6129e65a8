// heed run --plan: the kernel, the memory, the work and the time, before any of it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/estimate.h"
#include "cli/run_attention.h"
#include "cli/units.h"
#include "heed/attention.h"
#include "heed/reference.h"

namespace heed::cli {
namespace {

std::string describe(const char* name, ConstTensorView t) {
  return fmt::format("{:9} {} x {} heads x {} tokens x {}, {}\n", name, t.batch, t.heads, t.tokens,
                     t.dim, name_of(t.dtype));
}

// A small problem of the same kind, to be timed: the same dims, dtypes and scoring, few enough
// queries, keys and heads for some milliseconds.
struct Sample {
  ConstTensorView q, k, v;
  AttentionOptions options;
  std::vector<std::byte> zeros;  // what every view shows

  Sample(const AttentionInputs& inputs, std::size_t threads) {
    constexpr std::size_t kMostQueries = 256, kMostKeys = 2048, kMostKeysOfFew = 32768;
    q = inputs.q;
    k = inputs.k;
    v = inputs.v;
    const std::size_t group = q.heads / k.heads;
    const bool few = q.tokens <= 16;  // decoding: keys and values stream through once
    q.batch = k.batch = v.batch = 1;
    k.heads = v.heads = std::min(k.heads, threads);
    q.heads = k.heads * group;
    q.tokens = std::min(q.tokens, kMostQueries);
    k.tokens = v.tokens = std::min(k.tokens, few ? kMostKeysOfFew : kMostKeys);
    std::size_t most_bytes = 0;
    for (ConstTensorView* t : {&q, &k, &v}) {
      t->token_stride = static_cast<std::ptrdiff_t>(t->dim);
      t->head_stride = t->token_stride * static_cast<std::ptrdiff_t>(t->tokens);
      t->batch_stride = 0;
      most_bytes = std::max(most_bytes, t->heads * t->tokens * t->dim * size_of(t->dtype));
    }
    zeros.resize(most_bytes);
    q.data = k.data = v.data = zeros.data();
    options.softcap = inputs.options.softcap;
  }
};

double measure_kernel(const AttentionInputs& inputs, const PlanInfo& info) {
  const Sample sample(inputs, info.threads);
  Plan plan(sample.q, sample.k, sample.v, sample.options, {info.threads, {}});
  io::Array out(sample.q.dtype, {1, sample.q.heads, sample.q.tokens, sample.v.dim});
  TensorView view{out.bytes.data(), out.dtype, 1, sample.q.heads, sample.q.tokens, sample.v.dim};
  view.token_stride = static_cast<std::ptrdiff_t>(view.dim);
  view.head_stride = view.token_stride * static_cast<std::ptrdiff_t>(view.tokens);
  return measure(plan.info().flops,
                 [&] { plan.run(sample.q, sample.k, sample.v, view, {}, sample.options); });
}

// Of every pair, visible or not: the reference computes them all.
double measure_reference(const AttentionInputs& inputs, double& pairs_flops) {
  const auto work_of = [](ConstTensorView q, ConstTensorView k, ConstTensorView v) {
    return 2.0 * static_cast<double>(q.dim + v.dim) * static_cast<double>(q.batch * q.heads) *
           static_cast<double>(q.tokens) * static_cast<double>(k.tokens);
  };
  pairs_flops = work_of(inputs.q, inputs.k, inputs.v);
  Sample sample(inputs, 1);
  sample.q.heads = sample.k.heads = sample.v.heads = 1;
  sample.q.tokens = std::min<std::size_t>(sample.q.tokens, 16);
  return measure(work_of(sample.q, sample.k, sample.v), [&] {
    reference::attention<double>(sample.q, sample.k, sample.v, sample.options);
  });
}

}  // namespace

void print_plan(const RunOptions& flags, const AttentionInputs& inputs) {
  const PlannedViews views = planned_views(inputs);
  const Plan plan(views.q, views.k, views.v, inputs.options, {flags.threads, {}});
  const PlanInfo& info = plan.info();
  std::string text =
      describe("query", inputs.q) + describe("key", inputs.k) + describe("value", inputs.v);
  const io::Shape shape = output_shape(inputs, inputs.v.dim);
  const double out_bytes =
      static_cast<double>(io::element_count(shape)) * static_cast<double>(size_of(inputs.dtype));
  text += fmt::format("output    {}, {}, {}\n", io::to_string(shape), name_of(inputs.dtype),
                      with_prefix(out_bytes, "B"));

  double work = info.flops, speed = 0;
  if (inputs.dtype == DType::f64) {
    speed = measure_reference(inputs, work);
    text += "kernel    none: f64 is computed in double by the reference, on 1 thread\n";
    text += fmt::format("work      {}, every pair\n", with_prefix(work, "flop"));
  } else {
    if (work > 0) speed = measure_kernel(inputs, info);
    text += fmt::format("kernel    {}, {}, tiles of {} queries x {} keys", info.kernel, info.target,
                        info.tile_queries, info.tile_keys);
    if (info.key_splits > 1) text += fmt::format(", keys in {} pieces", info.key_splits);
    text += fmt::format("\nthreads   {}, for {} tasks\n", info.threads, info.tasks);
    text += fmt::format("memory    {} workspace",
                        with_prefix(static_cast<double>(info.workspace_bytes), "B"));
    text += inputs.copied_bytes == 0
                ? std::string(", inputs read in place\n")
                : fmt::format(", {} of inputs converted\n",
                              with_prefix(static_cast<double>(inputs.copied_bytes), "B"));
    text += fmt::format("work      {}, {} in and out\n", with_prefix(work, "flop"),
                        with_prefix(info.bytes, "B"));
  }
  text += time_line(work, speed);
  std::fputs(text.c_str(), stdout);
}

}  // namespace heed::cli
