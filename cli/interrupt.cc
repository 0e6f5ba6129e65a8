#include "cli/interrupt.h"

#include <csignal>

#include "heed/error.h"

namespace heed::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

void leave_a_mark(int signal) {
  caught = signal;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  caught = 0;
  std::signal(SIGINT, leave_a_mark);
  std::signal(SIGTERM, leave_a_mark);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() {
  return caught != 0;
}

void throw_if_interrupted() {
  if (interrupted()) throw Cancelled("stopped; nothing was written");
}

int interrupted_exit_code() {
  return 128 + caught;
}

}  // namespace heed::cli
