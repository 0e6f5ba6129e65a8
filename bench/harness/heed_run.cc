#include "bench/harness/heed_run.h"

#include <utility>

namespace heed::bench {

HeedRun::HeedRun(Problem problem, std::size_t threads, float* output)
    : problem_(std::move(problem)),
      output_(output_view(problem_, output)),
      plan_(problem_.q, problem_.k, problem_.v, problem_.options(), {.threads = threads}) {}

void HeedRun::run() {
  plan_.run(problem_.q, problem_.k, problem_.v, output_, {}, problem_.options());
}

}  // namespace heed::bench
