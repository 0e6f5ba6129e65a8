// Ctrl-C during work that must end cleanly: the work is asked to stop, and what it had begun to
// write disappears. Elsewhere Ctrl-C ends the program at once, as ever.
#pragma once

namespace heed::cli {

// While one exists, SIGINT and SIGTERM only leave a mark.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();
void throw_if_interrupted();  // heed::Cancelled

// What a program ended by the signal reports: 128 + its number, 130 for Ctrl-C.
int interrupted_exit_code();

}  // namespace heed::cli
