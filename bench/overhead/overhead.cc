// Claim: a call costs little beyond its arithmetic, and a plan that is used again costs less.
#include <benchmark/benchmark.h>

#include <vector>

#include "heed/attention.h"

namespace {

// One head of 8 numbers: `n` queries and keys, so small that only the call itself remains.
struct Tiny {
  explicit Tiny(std::size_t n)
      : q(n * kDim, 0.5f), k(n * kDim, 0.25f), v(n * kDim, 1.0f), out(n * kDim), tokens(n) {}

  static constexpr std::size_t kDim = 8;
  std::vector<float> q, k, v, out;
  std::size_t tokens;

  heed::ConstTensorView view(const std::vector<float>& x) const {
    return heed::bhnd(x.data(), 1, 1, tokens, kDim);
  }
  heed::TensorView output() { return heed::bhnd(out.data(), 1, 1, tokens, kDim); }
};

void AttentionCall(benchmark::State& state) {
  Tiny tiny(static_cast<std::size_t>(state.range(0)));
  const heed::Execution execution{.threads = static_cast<std::size_t>(state.range(1))};
  for (auto _ : state) {
    heed::attention(tiny.view(tiny.q), tiny.view(tiny.k), tiny.view(tiny.v), tiny.output(), {},
                    execution);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(AttentionCall)->ArgNames({"tokens", "threads"})->ArgsProduct({{1, 16}, {1, 2}});

void PlanReused(benchmark::State& state) {
  Tiny tiny(static_cast<std::size_t>(state.range(0)));
  heed::Plan plan(tiny.view(tiny.q), tiny.view(tiny.k), tiny.view(tiny.v), {},
                  {.threads = static_cast<std::size_t>(state.range(1))});
  for (auto _ : state) {
    plan.run(tiny.view(tiny.q), tiny.view(tiny.k), tiny.view(tiny.v), tiny.output());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(PlanReused)->ArgNames({"tokens", "threads"})->ArgsProduct({{1, 16}, {1, 2}});

}  // namespace

BENCHMARK_MAIN();
