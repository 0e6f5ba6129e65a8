// Threads of the caller's own, in place of oneTBB's.
//
//   const heed::ScopedTeam mine({run_on_my_pool, &my_pool});
//   heed::attention(q, k, v, out);  // on my_pool
//
// For programs that keep threads already: two pools on the same cores get in each other's way. The
// bits of a result do not depend on the team. Execution::threads still says how many to use.
#pragma once

#include <cstddef>

namespace heed {

// run(user, threads, work, data) calls work(data) on up to `threads` threads at once, at most once
// on each, the calling thread among them, and returns when all have returned. It must not throw.
struct Team {
  void (*run)(void* user, std::size_t threads, void (*work)(void* data), void* data) = nullptr;
  void* user = nullptr;
};

// As long as it lives, what the thread that made it asks of heed runs on the team. They nest.
class ScopedTeam {
 public:
  explicit ScopedTeam(const Team& team);
  ~ScopedTeam();
  ScopedTeam(const ScopedTeam&) = delete;
  ScopedTeam& operator=(const ScopedTeam&) = delete;

 private:
  Team before_;
};

}  // namespace heed
