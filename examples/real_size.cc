// Attention of a real size through the C++ library: its plan, told before anything is allocated,
// then its speed. 12 heads, 1024 tokens of 64, causal; `make run` runs it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "heed/attention.h"

int main() {
  constexpr std::size_t kHeads = 12, kTokens = 1024, kDim = 64;
  std::vector<float> x(kHeads * kTokens * kDim), out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i * 2654435761u % 2000) / 1000 - 1;
  const auto q = heed::bhnd(x.data(), 1, kHeads, kTokens, kDim);  // also the keys and the values
  const heed::AttentionOptions options = {.causal = heed::Causal::upper_left};

  heed::Plan plan(q, q, q, options);
  const heed::PlanInfo& info = plan.info();
  std::printf("%zu heads, %zu tokens of %zu, causal\n", kHeads, kTokens, kDim);
  std::printf("  kernel      %s on %s, tiles of %zu queries by %zu keys\n", info.kernel.c_str(),
              info.target.c_str(), info.tile_queries, info.tile_keys);
  std::printf("  work        %.2f GFLOP in %zu tasks on %zu threads\n", info.flops / 1e9,
              info.tasks, info.threads);
  std::printf("  memory      %.2f MB of workspace; all scores at once would take %.0f MB\n",
              static_cast<double>(info.workspace_bytes) / 1e6,
              static_cast<double>(kHeads * kTokens * kTokens * sizeof(float)) / 1e6);

  double best = 1e9;
  for (int run = 0; run < 20; ++run) {
    const auto start = std::chrono::steady_clock::now();
    plan.run(q, q, q, heed::bhnd(out.data(), 1, kHeads, kTokens, kDim), {}, options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  std::printf("  speed       %.2f ms, %.0f GFLOP/s (best of 20)\n", best * 1e3,
              info.flops / best / 1e9);
}
