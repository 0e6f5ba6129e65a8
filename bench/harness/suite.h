// The suite of `heed bench`: shapes and thread counts measured in turns, beside the machine's own
// limits, with every answer checked.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bench/harness/oracle.h"
#include "bench/harness/shapes.h"
#include "bench/harness/turns.h"

namespace heed::bench {

// One limit of the machine, measured many times in this run.
struct Limit {
  std::size_t bytes = 0;  // that were read; 0: not reading, but f32 multiply-adds
  // Whose keys and values they were (of i8: f32's). Memory is not equally fast everywhere.
  DType memory = DType::f32;
  std::size_t places = 1;  // of every thread's part that were read side by side
  std::size_t threads = 1;
  double best = 0, median = 0;  // bytes/s, or flop/s
};

// What the machine does to everything that runs on it.
struct Disturbance {
  double interrupted = 0;  // the part of the time that a thread does not get, in gaps over 1 us
  std::optional<double> calm_fma = {};  // flop/s of one thread between the gaps
};

struct Result {
  Shape shape;
  std::size_t threads = 1;
  std::size_t runs = 0;
  double seconds_best = 0, seconds_median = 0;
  Limit limit = {};
  double fraction = 0;         // of the best limit, by the best run
  double fraction_median = 0;  // of the median limit, by the median run
  // Of prefill on one thread: all pieces of a run at their fastest (pieces.h), and the fraction of
  // multiply-adds measured as finely.
  std::optional<double> seconds_calm = {}, fraction_calm = {};
  std::optional<double> speedup = {};  // over one thread, where that was measured too
  Target target = {};                  // for one thread; {} where nothing is promised
  Accuracy accuracy = {};
  std::size_t workspace_bytes = 0;                   // as the plan tells
  std::optional<std::size_t> peak_extra_bytes = {};  // measured, over planning and the first run

  // What is held against the target.
  double reached() const { return fraction_calm.value_or(fraction); }
  double flops() const { return useful_flops(shape) / seconds_best; }  // per second
  double bytes() const { return kv_bytes(shape) / seconds_best; }
};

struct Report {
  // Multiply-adds first, then by bytes, by memory, by places, by threads. Results are told by one
  // place: what reading in several would give is told beside.
  std::vector<Limit> limits;
  Disturbance disturbance = {};
  std::vector<Result> results;  // by shape, then by threads
};

// The error heed promises to keep to: this many times that of plain float.
inline constexpr double kErrorAllowed = 2.0;

// `after_round` is told how many rounds are done.
Report run_suite(std::span<const Shape> shapes, std::span<const std::size_t> threads,
                 const Pace& pace, const std::function<void(std::size_t)>& after_round = {});

}  // namespace heed::bench
