// LayerPlan: projections, the operator, the output, one after the other in one workspace.
#include <utility>

#include "base/checks.h"
#include "base/problem.h"
#include "base/rotary.h"
#include "heed/layer.h"
#include "layer/projections.h"

namespace heed {
namespace {

double product_of(std::size_t a, std::size_t b, std::size_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

// Flops and bytes of one projection of `rows` tokens.
double flops_of(const Projection& p, std::size_t rows) {
  return 2 * product_of(rows, p.weight.in, p.weight.out);
}
double bytes_of(const Projection& p) {
  return product_of(p.weight.in, p.weight.out, size_of(p.weight.dtype)) +
         static_cast<double>(p.bias.size() * sizeof(float));
}

}  // namespace

struct LayerPlan::Impl {
  Impl(LayerProjections projections, const LayerOptions& options, const Execution& execution)
      : steps(std::move(projections)),
        progress(execution.progress),
        plan(of().q.view(), of().k.view(), of().v.view(), options.attention,
             {.threads = execution.threads, .progress = attention_progress()}) {
    fill_info();
  }
  LayerProjections::Impl& of() { return *steps.impl_; }

  void fill_info() {
    const auto& s = of();
    const auto& layer = *s.layer;
    const std::size_t queries = s.batch * s.query_tokens, keys = s.batch * s.key_tokens;
    info.attention = plan.info();
    info.target = kernels::name_of(layer.target);
    info.threads = s.threads;
    info.workspace_bytes = s.workspace_bytes() + info.attention.workspace_bytes;
    before =
        flops_of(layer.query, queries) + flops_of(layer.key, keys) + flops_of(layer.value, keys);
    info.flops = before + info.attention.flops + flops_of(layer.output, queries);
    info.bytes = bytes_of(layer.query) + bytes_of(layer.key) + bytes_of(layer.value) +
                 bytes_of(layer.output) +
                 4 * (product_of(queries, layer.d_model, 2) + product_of(keys, layer.d_context, 1));
  }

  // The share of the attention in the progress of the whole layer.
  Progress attention_progress() {
    if (progress.call == nullptr) return {};
    return {[](double done, void* user) {
              auto& self = *static_cast<Impl*>(user);
              return self.tell(self.before + done * self.info.attention.flops);
            },
            this};
  }
  bool tell(double flops) const {
    return progress.call == nullptr ||
           progress.call(info.flops > 0 ? flops / info.flops : 1.0, progress.user);
  }
  void tell_or_throw(double flops) const {
    if (!tell(flops)) throw Cancelled("layer: cancelled by the progress callback");
  }

  // Given positions, or those of the operator; none are needed without RoPE.
  std::span<const std::int64_t> query_places(const LayerOptions& options) {
    auto& s = of();
    if (options.query_positions)
      return s.listed(*options.query_positions, s.query_tokens, s.query_list);
    if (s.layer->turning == 0) return {};
    s.query_list.resize(s.batch * s.query_tokens);
    place_queries(problem, s.query_tokens, s.query_list);
    return s.query_list;
  }
  std::span<const std::int64_t> key_places(const LayerOptions& options) {
    auto& s = of();
    if (options.key_positions) return s.listed(*options.key_positions, s.key_tokens, s.key_list);
    if (s.layer->turning == 0) return {};
    s.key_list.resize(s.batch * s.key_tokens);
    place_keys(problem, s.key_tokens, s.key_list);
    return s.key_list;
  }

  void run(ConstSequenceView y, ConstSequenceView z, SequenceView out,
           const LayerOptions& options) {
    auto& s = of();
    s.require_tokens("out", out, s.query_tokens, s.layer->d_model, "d_model");
    const TensorView q = s.q.view(), k = s.k.view(), v = s.v.view();
    describe(problem, q, k, v, options.attention);
    const auto queries = query_places(options), keys = key_places(options);
    tell_or_throw(0);
    s.project(&y, &z, queries, keys);
    tell_or_throw(before);
    plan.run(q, k, v, s.heads.view(), {}, options.attention);
    s.output(out);
    tell_or_throw(info.flops);
  }

  LayerProjections steps;
  Progress progress;
  Plan plan;
  Problem problem;
  LayerPlanInfo info;
  double before = 0;  // flops that are done when the attention starts
};

LayerPlan::LayerPlan(const MultiHeadAttention& layer, std::size_t batch, std::size_t query_tokens,
                     std::size_t key_tokens, const LayerOptions& options,
                     const Execution& execution)
    : impl_(std::make_unique<Impl>(
          LayerProjections(layer, batch, query_tokens, key_tokens, execution), options,
          execution)) {}
LayerPlan::~LayerPlan() = default;
LayerPlan::LayerPlan(LayerPlan&&) noexcept = default;
LayerPlan& LayerPlan::operator=(LayerPlan&&) noexcept = default;

const LayerPlanInfo& LayerPlan::info() const {
  return impl_->info;
}

void LayerPlan::self_attention(ConstSequenceView x, SequenceView out, const LayerOptions& options) {
  impl_->of().require_self(x);
  impl_->run(x, x, out, options);
}

void LayerPlan::cross_attention(ConstSequenceView y, ConstSequenceView z, SequenceView out,
                                const LayerOptions& options) {
  impl_->of().require_cross(y, z);
  impl_->run(y, z, out, options);
}

}  // namespace heed
