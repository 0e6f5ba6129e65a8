#include "bench/harness/suite.h"

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "bench/harness/aligned.h"
#include "bench/harness/heed_run.h"
#include "bench/harness/inputs.h"
#include "bench/harness/interruptions.h"
#include "bench/harness/memory.h"
#include "heed/machine.h"

namespace heed::bench {
namespace {

// How long a limit is measured at a time: a few tries of the multiply-add peak, and at least one
// pass of reading. Before the first round longer, for runs whose shapes need only one of the two.
constexpr double kFmaSeconds = 0.004, kReadSeconds = 0.005, kFirstSeconds = 0.05;
// After so many seconds of runs. Bandwidth comes and goes with what neighbours do, multiply-adds
// hardly; and whatever runs in between costs a run its warm caches.
constexpr double kReadEvery = 0.025, kFmaEvery = 0.25;
// About as long as the pieces that a run is timed in.
constexpr double kCalmSeconds = 0.0002;

// So many runs leave nearly every piece alone once; in a short measurement fewer.
constexpr double kCalmRuns = 32, kCalmRunsPerSecond = 20;

// How long the machine is watched after every round.
constexpr double kInterruptedSeconds = 0.01;

// In how many places memory is also read at once: as many as decode reads f32 in.
constexpr std::size_t kManyPlaces = 4;

// Everything measured of the machine so far.
class Limits {
 public:
  explicit Limits(const Inputs& inputs) : inputs_(inputs) {}

  void measure_fma(std::size_t threads, double seconds = kFmaSeconds) {
    seconds_per_unit_[{0, DType::f32, 1, threads}].push_back(1 /
                                                             measure_fma_peak(threads, seconds));
    if (threads == 1)
      calm_fma_ = std::max(calm_fma_.value_or(0), measure_fma_peak(1, seconds, kCalmSeconds));
  }

  void measure_read(const Shape& shape, std::size_t threads, double at_least = kReadSeconds) {
    const std::span<const std::byte> memory = inputs_.kv_memory(shape);
    for (double used = 0; used < at_least;)
      for (const std::size_t places : {std::size_t{1}, kManyPlaces}) {
        std::vector<double>& seconds =
            seconds_per_unit_[{memory.size(), memory_of(shape), places, threads}];
        seconds.push_back(1 / measure_read_bandwidth(memory, threads, places));
        if (places == 1) used += static_cast<double>(memory.size()) * seconds.back();
      }
  }

  // Whichever of the two bounds the shape.
  void measure(const Shape& shape, std::size_t threads) {
    bound_by_memory(shape) ? measure_read(shape, threads) : measure_fma(threads);
  }

  Limit of(const Shape& shape, std::size_t threads) const {
    if (!bound_by_memory(shape)) return limit_of({0, DType::f32, 1, threads});
    return limit_of({inputs_.kv_memory(shape).size(), memory_of(shape), 1, threads});
  }

  // Multiply-adds of one thread, if measured, in tries short enough to be left alone.
  std::optional<double> calm_fma() const { return calm_fma_; }

  std::vector<Limit> all() const {
    std::vector<Limit> limits;
    for (const auto& [key, seconds] : seconds_per_unit_) limits.push_back(limit_of(key));
    return limits;
  }

 private:
  struct Key {
    std::size_t bytes;  // as of a Limit
    DType memory;
    std::size_t places, threads;
    auto operator<=>(const Key&) const = default;
  };

  Limit limit_of(const Key& key) const {
    const std::vector<double>& seconds = seconds_per_unit_.at(key);
    return {key.bytes, key.memory, key.places, key.threads, 1 / best(seconds), 1 / median(seconds)};
  }

  static DType memory_of(const Shape& shape) {
    return shape.kv_dtype == DType::i8 ? DType::f32 : shape.kv_dtype;
  }

  const Inputs& inputs_;
  std::map<Key, std::vector<double>> seconds_per_unit_;
  std::optional<double> calm_fma_;
};

// Whether a run is timed in pieces.
bool in_pieces(const Shape& shape, std::size_t threads) {
  return shape.kind == Kind::prefill && threads == 1;
}

// One shape at one thread count.
struct Entry {
  Entry(const Inputs& inputs, const Shape& shape_, std::size_t threads_)
      : shape(shape_), threads(threads_), output(output_size(shape_)) {
    peak_extra_bytes = peak_growth([&] {
      heed.emplace(inputs.problem(shape), threads, output.data(),
                   in_pieces(shape, threads) ? &pieces : nullptr);
      heed->run();
    });
  }

  Shape shape;
  std::size_t threads;
  AlignedVector<float> output;
  Pieces pieces;
  std::optional<HeedRun> heed;
  std::optional<std::size_t> peak_extra_bytes;
};

Result result_of(const Entry& entry, const Subject& subject, const Limit& limit,
                 std::optional<double> calm_fma, const Oracle& oracle) {
  Result result;
  result.shape = entry.shape;
  result.threads = entry.threads;
  result.runs = subject.seconds.size();
  result.seconds_best = best(subject.seconds);
  result.seconds_median = median(subject.seconds);
  result.limit = limit;
  const double work =
      bound_by_memory(entry.shape) ? kv_bytes(entry.shape) : useful_flops(entry.shape);
  result.fraction = work / result.seconds_best / limit.best;
  result.fraction_median = work / result.seconds_median / limit.median;
  if (entry.pieces.count() != 0 && calm_fma) {
    result.seconds_calm = entry.pieces.seconds();
    result.fraction_calm = work / *result.seconds_calm / *calm_fma;
  }
  result.accuracy = oracle.check(entry.heed->output());
  result.workspace_bytes = entry.heed->workspace_bytes();
  result.peak_extra_bytes = entry.peak_extra_bytes;
  return result;
}

// With vectors of 512 bits the multiply-add peak doubles, and what surrounds the multiply-adds
// weighs more: less of it has to be reached.
Target target_of(const Shape& shape) {
  constexpr double kWideVectorMargin = 0.08;
  Target target = shape.target;
  if (!bound_by_memory(shape) && target.must > 0 && current_target().starts_with("AVX3"))
    target.must -= kWideVectorMargin;
  return target;
}

// Fills in what depends on another result: the speed-up over one thread, and targets that are told
// as a distance from another shape.
void compare_results(std::vector<Result>& results) {
  const auto find = [&](std::string_view name, DType dtype) {
    return std::ranges::find_if(results, [&](const Result& r) {
      return r.shape.name == name && r.shape.kv_dtype == dtype && r.threads == 1;
    });
  };
  for (Result& result : results) {
    const Shape& shape = result.shape;
    if (result.threads == 1) {
      result.target = target_of(shape);
      const auto beside = find(shape.beside, shape.kv_dtype);
      if (beside != results.end()) result.target.must = beside->reached() - kBesideMargin;
    } else if (const auto alone = find(shape.name, shape.kv_dtype); alone != results.end()) {
      result.speedup = alone->seconds_best / result.seconds_best;
    }
  }
}

}  // namespace

Report run_suite(std::span<const Shape> shapes, std::span<const std::size_t> threads,
                 const Pace& pace, const std::function<void(std::size_t)>& after_round) {
  const Inputs inputs(shapes);
  Limits limits(inputs);
  const Shape& largest = *std::ranges::max_element(shapes, {}, kv_bytes);
  for (const std::size_t count : threads) {  // also wakes the threads before memory is measured
    limits.measure_fma(count, kFirstSeconds);
    limits.measure_read(largest, count, kFirstSeconds);
  }
  std::list<Entry> entries;
  for (const Shape& shape : shapes)
    for (const std::size_t count : threads) entries.emplace_back(inputs, shape, count);

  const double calm_runs = std::min(kCalmRuns, kCalmRunsPerSecond * pace.seconds);
  std::vector<Subject> subjects;
  for (Entry& entry : entries)
    subjects.push_back({.run = [&entry] { entry.heed->run(); },
                        .beside = [&] { limits.measure(entry.shape, entry.threads); },
                        .beside_every = bound_by_memory(entry.shape) ? kReadEvery : kFmaEvery,
                        .min_runs = in_pieces(entry.shape, entry.threads)
                                        ? static_cast<std::size_t>(calm_runs)
                                        : 0});
  std::vector<double> interrupted;
  take_turns(subjects, pace, [&](std::size_t round) {
    interrupted.push_back(interrupted_part(kInterruptedSeconds));
    if (after_round) after_round(round);
  });

  Report report{.limits = limits.all(),
                .disturbance = {.interrupted = median(interrupted), .calm_fma = limits.calm_fma()},
                .results = {}};
  std::map<std::string, Oracle> oracles;
  auto subject = subjects.begin();
  for (const Entry& entry : entries) {
    const auto [oracle, added] =
        oracles.try_emplace(label_of(entry.shape), inputs.problem(entry.shape));
    report.results.push_back(result_of(entry, *subject++, limits.of(entry.shape, entry.threads),
                                       limits.calm_fma(), oracle->second));
  }
  compare_results(report.results);
  return report;
}

}  // namespace heed::bench
