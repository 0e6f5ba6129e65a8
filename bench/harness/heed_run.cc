#include "bench/harness/heed_run.h"

#include <utility>

namespace heed::bench {

HeedRun::HeedRun(Problem problem, std::size_t threads, float* output)
    : problem_(std::move(problem)),
      threads_(threads),
      output_(output_view(problem_, output)),
      plan_(problem_.q, problem_.k, problem_.v, problem_.options(), {.threads = threads}) {}

void HeedRun::run() {
  if (problem_.shape.kind == Kind::selfish) {
    selfish_attention(static_cast<const float*>(problem_.k.data),
                      static_cast<const float*>(problem_.q.data),
                      static_cast<float*>(output_.data), problem_.shape.batch, problem_.shape.n_k,
                      problem_.shape.head_dim, {.threads = threads_});
    return;
  }
  plan_.run(problem_.q, problem_.k, problem_.v, output_, {}, problem_.options());
}

}  // namespace heed::bench
