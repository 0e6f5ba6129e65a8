#include "bench/harness/turns.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace heed::bench {
namespace {

// Lets a subject run until it has used `seconds` in this turn and has run `runs` times in all.
// Returns the time used.
double take_turn(Subject& subject, double seconds, std::size_t runs) {
  double used = 0, since_limit = subject.beside_every;
  while (used < seconds || subject.seconds.size() < runs) {
    if (since_limit >= subject.beside_every) {
      used += seconds_of(subject.beside);
      since_limit = 0;
    }
    const double took = seconds_of(subject.run);
    subject.seconds.push_back(took);
    used += took;
    since_limit += took;
  }
  return used;
}

}  // namespace

void take_turns(std::span<Subject> subjects, const Pace& pace,
                const std::function<void(std::size_t)>& after_round) {
  std::vector<double> used(subjects.size(), 0.0);
  for (std::size_t round = 1; round <= pace.rounds; ++round) {
    const double share =
        pace.seconds * static_cast<double>(round) / static_cast<double>(pace.rounds);
    for (std::size_t n = 0; n < subjects.size(); ++n) {
      const std::size_t least = std::max(pace.min_runs, subjects[n].min_runs);
      used[n] +=
          take_turn(subjects[n], share - used[n], (least * round + pace.rounds - 1) / pace.rounds);
    }
    if (after_round) after_round(round);
  }
}

double best(std::span<const double> values) {
  return values.empty() ? std::numeric_limits<double>::infinity()
                        : *std::ranges::min_element(values);
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::infinity();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const std::function<void()>& work) {
  const double start = seconds_now();
  work();
  return seconds_now() - start;
}

}  // namespace heed::bench
