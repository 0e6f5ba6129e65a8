// Threads: run independent tasks on oneTBB, or one after the other in a build without it.
//
// heed starts no threads of its own: tasks join the caller's arena, so that a program that limits
// or pins oneTBB limits heed too; or the caller's team, if there is one (heed/threads.h). Which
// thread runs which task is unspecified; results never depend on it.
#pragma once

#include <cstddef>

namespace heed {

// How many threads a run that asks for `wanted` (0: all) gets from the current arena.
std::size_t thread_count(std::size_t wanted);

// Calls task(index, worker, user) for every index in [0, tasks), lower indices first, on at most
// `threads` threads (1: the calling thread alone, nothing is woken). worker < threads is the same
// for all tasks that run on one thread at a time, so it can choose a workspace. Tasks must not
// throw. Stops handing out tasks once `task` has returned false; returns whether all of them ran.
using Task = bool (*)(std::size_t index, std::size_t worker, void* user);
bool parallel_for(std::size_t tasks, std::size_t threads, Task task, void* user);

// The same for a callable bool(std::size_t index, std::size_t worker).
template <class F>
bool parallel_for(std::size_t tasks, std::size_t threads, F&& f) {
  auto* pointer = &f;
  return parallel_for(
      tasks, threads,
      [](std::size_t index, std::size_t worker, void* user) {
        return (*static_cast<decltype(pointer)>(user))(index, worker);
      },
      const_cast<void*>(static_cast<const void*>(pointer)));
}

}  // namespace heed
