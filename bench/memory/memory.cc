// Claim: memory beyond inputs and outputs is linear in the tokens; the N x N scores never exist.
//
//   heed_bench_memory     prints, for each length, what the plan tells and what was measured
#include "bench/harness/memory.h"

#include <cstdio>
#include <optional>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/heed_run.h"

namespace {

using namespace heed::bench;

struct Memory {
  std::size_t planned = 0;
  std::optional<std::size_t> measured;
};

Memory memory_of(const Shape& shape) {
  const Inputs inputs(std::vector{shape});
  AlignedVector<float> output(output_size(shape));
  std::optional<HeedRun> run;
  const auto measured = peak_growth([&] {
    run.emplace(inputs.problem(shape), 1, output.data());
    run->run();
  });
  return {run->workspace_bytes(), measured};
}

}  // namespace

int main() {
  constexpr double kMega = 1e6;
  constexpr std::size_t kShortest = 1024, kLongest = 32768;
  Shape shape = select_shapes(std::vector<std::string>{"P4c"}).front();
  shape.query_heads = shape.kv_heads = 1;  // so that the longest takes seconds, not minutes
  shape.n_q = shape.n_k = kShortest;
  memory_of(shape);  // the first run also brings in the code
  std::printf(
      "causal, one head of 64, one thread\n"
      " tokens   plan MB   measured MB   scores would be MB\n");
  for (shape.n_q = kShortest; shape.n_q <= kLongest; shape.n_q *= 2) {
    shape.n_k = shape.n_q;
    const Memory memory = memory_of(shape);
    std::printf("%7zu %9.2f %13.2f %20.0f\n", shape.n_q,
                static_cast<double>(memory.planned) / kMega,
                memory.measured ? static_cast<double>(*memory.measured) / kMega : -1.0,
                static_cast<double>(shape.n_q * shape.n_k * sizeof(float)) / kMega);
  }
}
