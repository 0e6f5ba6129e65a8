// Claim: memory beyond inputs and outputs is linear in the tokens; the N x N scores never exist.
//
//   heed_bench_memory     prints, for each length, what the plan tells and what was measured
#include <cstdio>
#include <optional>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/heed_run.h"
#include "bench/harness/memory.h"

int main() {
  using namespace heed::bench;
  constexpr double kMega = 1e6;
  Shape shape = select_shapes(std::vector<std::string>{"P4c"}).front();
  shape.query_heads = shape.kv_heads = 1;  // so that the longest takes seconds, not minutes
  std::printf("causal, one head of 64, one thread\n"
              " tokens   plan MB   measured MB   scores would be MB\n");
  for (shape.n_q = 1024; shape.n_q <= 32768; shape.n_q *= 2) {
    shape.n_k = shape.n_q;
    const Inputs inputs(std::vector{shape});
    AlignedVector<float> output(output_size(shape));
    std::optional<HeedRun> run;
    const auto measured = peak_growth([&] {
      run.emplace(inputs.problem(shape), 1, output.data());
      run->run();
    });
    std::printf("%7zu %9.2f %13.2f %20.0f\n", shape.n_q,
                static_cast<double>(run->workspace_bytes()) / kMega,
                measured ? static_cast<double>(*measured) / kMega : -1.0,
                static_cast<double>(shape.n_q * shape.n_k * sizeof(float)) / kMega);
  }
}
