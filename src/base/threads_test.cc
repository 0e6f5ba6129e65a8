#include "base/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "heed/threads.h"

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

TEST(Threads, MoreThanThereAreSaysNothing) {
  testing::internal::CaptureStderr();
  const bool all = parallel_for(1000, 100, [](std::size_t, std::size_t) { return true; });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(all);
}

TEST(Threads, StopsWhenATaskSaysSo) {
  std::atomic<int> runs{0};
  EXPECT_FALSE(parallel_for(1000, 1, [&](std::size_t i, std::size_t) {
    ++runs;
    return i < 9;
  }));
  EXPECT_EQ(runs, 10);
}

TEST(Threads, ATeamOfTheCallersDoesTheWork) {
  struct Pool {
    std::size_t used = 0, threads = 0;  // how often, and how many it lends at most
    static void run(void* self, std::size_t threads, void (*work)(void*), void* data) {
      auto& pool = *static_cast<Pool*>(self);
      ++pool.used;
      std::vector<std::thread> others;
      for (std::size_t n = 1; n < std::min(threads, pool.threads); ++n)
        others.emplace_back(work, data);
      work(data);
      for (std::thread& other : others) other.join();
    }
  };
  for (const std::size_t lent : {1, 3, 8}) {  // 3 are asked for
    Pool pool{.threads = lent};
    std::vector<std::atomic<int>> runs(1000);
    const auto count = [&](std::size_t i, std::size_t worker) {
      EXPECT_LT(worker, 3u);
      ++runs[i];
      return true;
    };
    {
      const ScopedTeam team({&Pool::run, &pool});
      EXPECT_TRUE(parallel_for(runs.size(), 3, count));
      EXPECT_TRUE(parallel_for(runs.size(), 1, count));  // one thread needs no one
    }
    EXPECT_TRUE(parallel_for(runs.size(), 3, count));
    EXPECT_EQ(pool.used, 1u);
    for (const auto& times : runs) EXPECT_EQ(times, 3);
  }
}

TEST(Threads, NoTasksIsNoWork) {
  EXPECT_TRUE(parallel_for(0, 4, [](std::size_t, std::size_t) { return false; }));
}

}  // namespace
}  // namespace heed
