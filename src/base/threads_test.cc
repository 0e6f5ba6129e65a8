#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace heed {
namespace {

TEST(Threads, EveryTaskRunsOnceOnAWorkerInRange) {
  for (const std::size_t threads : {1, 2, 3, 8}) {
    std::vector<std::atomic<int>> runs(1000);
    std::atomic<std::size_t> highest{0};
    const bool all = parallel_for(runs.size(), threads, [&](std::size_t i, std::size_t worker) {
      ++runs[i];
      for (std::size_t seen = highest;
           worker > seen && !highest.compare_exchange_weak(seen, worker);) {
      }
      return true;
    });
    EXPECT_TRUE(all);
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_LT(highest, threads);
  }
}

TEST(Threads, StopsWhenATaskSaysSo) {
  std::atomic<int> runs{0};
  EXPECT_FALSE(parallel_for(1000, 1, [&](std::size_t i, std::size_t) {
    ++runs;
    return i < 9;
  }));
  EXPECT_EQ(runs, 10);
}

TEST(Threads, NoTasksIsNoWork) {
  EXPECT_TRUE(parallel_for(0, 4, [](std::size_t, std::size_t) { return false; }));
}

}  // namespace
}  // namespace heed
