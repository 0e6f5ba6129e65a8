// The public operator: checks, then a Runner.
#include "heed/attention.h"

#include <utility>

#include "base/checks.h"
#include "base/overlap.h"
#include "base/problem.h"
#include "kernels/run.h"

namespace heed {
namespace {

void require_dtypes(ConstTensorView k, ConstTensorView v) {
  require_dtype("key", k.dtype, kernels::kFloats);
  require(k.dtype == v.dtype, "attention: key has dtype ", name_of(k.dtype), " but value has ",
          name_of(v.dtype));
}

}  // namespace

struct Plan::Impl {
  // What the problem was described from; runs must agree with it.
  struct Shape {
    ConstTensorView q, k, v;
    std::size_t sequences = 0;
  };

  Impl(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
       const Execution& execution)
      : problem(checked(q, k, v, options)),
        shape{q, k, v, problem.sequences.size()},
        runner(operands(q, k, v, {}, {}, options), problem.ragged ? q.tokens : problem.most_queries,
               problem.ragged ? k.tokens : problem.most_keys, execution) {}

  static Problem checked(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                         const AttentionOptions& options) {
    kernels::require_queries(q, options);
    require_dtypes(k, v);
    return describe(q, k, v, options);
  }

  kernels::Run operands(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
                        RowView lse, const AttentionOptions& options) const {
    return {&problem, &options, q, {kernels::row_store(k), kernels::row_store(v)}, out, lse};
  }

  void require_as_planned(std::string_view name, ConstTensorView planned, ConstTensorView t) const {
    require(planned.dtype == t.dtype, "attention: the plan is for ", name, " of dtype ",
            name_of(planned.dtype), " but the run has ", name_of(t.dtype));
    const auto same = [&](std::string_view what, std::size_t a, std::size_t b) {
      require(a == b, "attention: the plan is for ", name, " with ", what, " ", a,
              " but the run has ", b);
    };
    same("batch", planned.batch, t.batch);
    same("heads", planned.heads, t.heads);
    same("tokens", planned.tokens, t.tokens);
    same("head_dim", planned.dim, t.dim);
  }

  void run(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out, RowView lse,
           const AttentionOptions& options) {
    require_as_planned("query", shape.q, q);
    require_as_planned("key", shape.k, k);
    require_as_planned("value", shape.v, v);
    kernels::require_queries(q, options);
    describe(problem, q, k, v, options);
    require(problem.sequences.size() == shape.sequences, "attention: the plan is for ",
            shape.sequences, " sequences but the run has ", problem.sequences.size());
    require_data("key", k);
    require_data("value", v);
    kernels::require_ends(problem, q, k, v, out, lse, options);
    runner.run(operands(q, k, v, out, lse, options));
  }

  Problem problem;
  Shape shape;
  kernels::Runner runner;
};

Plan::Plan(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
           const Execution& execution)
    : impl_(std::make_unique<Impl>(q, k, v, options, execution)) {}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

const PlanInfo& Plan::info() const {
  return impl_->runner.info();
}

void Plan::run(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out, RowView lse,
               const AttentionOptions& options) {
  impl_->run(q, k, v, out, lse, options);
}

void require_apart(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
                   RowView lse, const AttentionOptions& options) {
  require_apart("attention", {{"out", region(out)}, {"lse", region(lse, out)}},
                {{"query", region(q)},
                 {"key", region(k)},
                 {"value", region(v)},
                 {"mask", region(options.mask)},
                 {"bias", region(options.bias)}});
}

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out,
               const AttentionOptions& options, const Execution& execution) {
  attention(q, k, v, out, RowView{}, options, execution);
}

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView out, RowView lse,
               const AttentionOptions& options, const Execution& execution) {
  Plan(q, k, v, options, execution).run(q, k, v, out, lse, options);
}

}  // namespace heed
