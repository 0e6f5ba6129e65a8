// A run without the GIL that Ctrl-C ends, and that a callback of the caller's may end.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "heed/error.h"
#include "heed/options.h"

namespace heed::python {

namespace py = pybind11;

// Stays where it is: progress() points at it. One run at a time.
class Interruptible {
 public:
  Interruptible() = default;
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // What the run must be given to be interrupted.
  Progress progress() { return {&Interruptible::keep_going, this}; }

  // Runs f() without the GIL; afterwards raises what ended it: KeyboardInterrupt, or what end_with
  // was told.
  template <class F>
  void operator()(F&& f) {
    caller_ = std::this_thread::get_id();
    asked_ = std::chrono::steady_clock::now();
    try {
      const py::gil_scoped_release release;
      f();
    } catch (const Cancelled&) {
      raise_pending();
      throw;
    }
    raise_pending();
  }

  // For callbacks, with the GIL held: the run is to end, and this is to be raised.
  bool ending() const { return raised_ != nullptr; }
  void end_with(std::exception_ptr raised);

 private:
  static bool keep_going(double done, void* self);
  void raise_pending();

  std::exception_ptr raised_;  // the first; guarded by the GIL
  std::atomic<bool> stop_{false};
  std::thread::id caller_;
  std::chrono::steady_clock::time_point asked_;  // when signals were last looked for
};

}  // namespace heed::python
