#include "base/threads.h"

#include <algorithm>
#include <atomic>

#include "heed/threads.h"

#if HEED_WITH_TBB
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace heed {
namespace {

thread_local Team team_of_this_thread;

#if HEED_WITH_TBB
// What the caller wrote is the workers' to read, and what they wrote the caller's, once they are
// done; between workers it promises nothing. oneTBB orders this too, but inside a library that
// ThreadSanitizer does not see into.
class HandOver {
 public:
  void give() { given_.store(true, std::memory_order_release); }
  void take() const { static_cast<void>(given_.load(std::memory_order_acquire)); }
  void give_back() { returned_.fetch_add(1, std::memory_order_release); }
  void take_back() const { static_cast<void>(returned_.load(std::memory_order_acquire)); }

 private:
  std::atomic<bool> given_{false};
  std::atomic<std::size_t> returned_{0};
};
#endif

}  // namespace

ScopedTeam::ScopedTeam(const Team& team) : before_(team_of_this_thread) {
  team_of_this_thread = team;
}

ScopedTeam::~ScopedTeam() {
  team_of_this_thread = before_;
}

std::size_t thread_count(std::size_t wanted) {
#if HEED_WITH_TBB
  const auto have = static_cast<std::size_t>(std::max(1, tbb::this_task_arena::max_concurrency()));
  return wanted == 0 ? have : wanted;
#else
  (void)wanted;
  return 1;
#endif
}

bool parallel_for(std::size_t tasks, std::size_t threads, Task task, void* user) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](std::size_t worker) {
    while (!stopped.load(std::memory_order_relaxed)) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= tasks) return;
      if (!task(index, worker, user)) stopped.store(true, std::memory_order_relaxed);
    }
  };
  threads = std::min(threads, tasks);
  if (const Team team = team_of_this_thread; threads > 1 && team.run != nullptr) {
    std::atomic<std::size_t> workers{0};
    auto join = [&] { work(workers.fetch_add(1, std::memory_order_relaxed)); };
    team.run(
        team.user, threads, [](void* data) { (*static_cast<decltype(join)*>(data))(); }, &join);
    return !stopped.load();
  }
#if HEED_WITH_TBB
  if (threads > 1) {
    const auto run = [&] {
      tbb::task_group group;
      HandOver memory;
      memory.give();
      for (std::size_t worker = 1; worker < threads; ++worker)
        group.run([&memory, &work, worker] {
          memory.take();
          work(worker);
          memory.give_back();
        });
      work(0);
      group.wait();
      memory.take_back();
    };
    // An arena of its own only when the caller's is narrower than what was asked for and what
    // oneTBB has: of a wider one it would warn on standard error.
    const std::size_t width = std::min(
        threads, tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
    if (width > static_cast<std::size_t>(tbb::this_task_arena::max_concurrency())) {
      tbb::task_arena(static_cast<int>(width)).execute(run);
    } else {
      run();
    }
    return !stopped.load();
  }
#endif
  work(0);
  return !stopped.load();
}

}  // namespace heed
