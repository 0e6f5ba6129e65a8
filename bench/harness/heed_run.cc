#include "bench/harness/heed_run.h"

#include <utility>

namespace heed::bench {
namespace {

// The tokens of a layer's input or output.
SequenceView tokens_of(const Problem& problem, const void* data) {
  const Shape& shape = problem.shape;
  return sequences(static_cast<float*>(const_cast<void*>(data)), shape.batch, shape.n_q,
                   model_dim(shape));
}

// The layer of a problem, its weights packed.
MultiHeadAttention layer_of(const Problem& problem) {
  const std::size_t d = model_dim(problem.shape);
  const auto weight = [&](ConstTensorView pair, std::size_t n) {
    return in_out(static_cast<const float*>(pair.data) + n * d * d, d, d);
  };
  return MultiHeadAttention({.d_model = d, .query_heads = problem.shape.query_heads},
                            {.query = weight(problem.k, 0),
                             .key = weight(problem.k, 1),
                             .value = weight(problem.v, 0),
                             .output = weight(problem.v, 1)});
}

}  // namespace

HeedRun::HeedRun(Problem problem, std::size_t threads, float* output, Pieces* pieces)
    : problem_(std::move(problem)),
      threads_(threads),
      pieces_(pieces),
      output_(output_view(problem_, output)) {
  const Shape& shape = problem_.shape;
  const Execution execution = {.threads = threads,
                               .progress = pieces != nullptr ? pieces->progress() : Progress{}};
  if (problem_.cache != nullptr)
    cache_plan_ = plan_info(problem_.q, *problem_.cache, problem_.options(), execution);
  else if (shape.kind == Kind::layer)
    layer_plan_.emplace(layer_of(problem_), shape.batch, shape.n_q, shape.n_k,
                        LayerOptions{.attention = problem_.options()}, execution);
  else
    plan_.emplace(problem_.q, problem_.k, problem_.v, problem_.options(), execution);
}

void HeedRun::run() {
  if (pieces_ != nullptr) pieces_->begin();
  run_once();
  if (pieces_ != nullptr) pieces_->end();
}

void HeedRun::run_once() {
  if (cache_plan_)
    return attention(problem_.q, *problem_.cache, output_, problem_.options(),
                     {.threads = threads_});
  switch (problem_.shape.kind) {
    case Kind::layer:
      return layer_plan_->self_attention(tokens_of(problem_, problem_.q.data),
                                         tokens_of(problem_, output_.data),
                                         {.attention = problem_.options()});
    case Kind::selfish:
      return selfish_attention(static_cast<const float*>(problem_.k.data),
                               static_cast<const float*>(problem_.q.data),
                               static_cast<float*>(output_.data), problem_.shape.batch,
                               problem_.shape.n_k, problem_.shape.head_dim, {.threads = threads_});
    default: return plan_->run(problem_.q, problem_.k, problem_.v, output_, {}, problem_.options());
  }
}

std::size_t HeedRun::workspace_bytes() const {
  if (cache_plan_) return cache_plan_->workspace_bytes;
  return layer_plan_ ? layer_plan_->info().workspace_bytes : plan_->info().workspace_bytes;
}

}  // namespace heed::bench
