#include "interruptible.h"

#include <utility>

namespace heed::python {
namespace {

// Taking the GIL costs most when another thread computes in Python: often enough for Ctrl-C.
constexpr std::chrono::milliseconds kBetweenSignalChecks{20};

}  // namespace

void Interruptible::end_with(std::exception_ptr raised) {
  raised_ = std::move(raised);
  stop_ = true;
}

// Ctrl-C is seen on the thread that called; the others only learn that the run is to stop.
bool Interruptible::keep_going(double, void* self) {
  auto& run = *static_cast<Interruptible*>(self);
  if (run.stop_ || std::this_thread::get_id() != run.caller_) return !run.stop_;
  const auto now = std::chrono::steady_clock::now();
  if (now - run.asked_ < kBetweenSignalChecks) return true;
  run.asked_ = now;
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return true;
  run.end_with(std::make_exception_ptr(py::error_already_set()));
  return false;
}

void Interruptible::raise_pending() {
  if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
}

}  // namespace heed::python
