// Taking turns: the way everything is timed, on machines that are never quite quiet.
//
// What is compared runs in rounds: each subject for a short while, then the next, then all of them
// again. A disturbance then touches a few turns of everything, and the best of many turns is what
// the machine can do.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace heed::bench {

// How long each subject is measured, in how many turns.
struct Pace {
  double seconds = 1.5;      // for each subject, in all
  std::size_t rounds = 10;   // turns over which they are spread
  std::size_t min_runs = 5;  // of each subject, however long they take
};

struct Subject {
  std::function<void()> run;         // what is timed
  std::function<void()> beside;      // measures the limit, between the runs
  double beside_every = 0.025;       // after so many seconds of them
  std::size_t min_runs = 0;          // if it needs more than the pace says
  std::vector<double> seconds = {};  // of every run
};

// Times all subjects in turns. `after_round` is told how many rounds are done.
void take_turns(std::span<Subject> subjects, const Pace& pace,
                const std::function<void(std::size_t)>& after_round = {});

double best(std::span<const double> values);  // the smallest
double median(std::vector<double> values);

double seconds_now();  // on a clock that never goes back
double seconds_of(const std::function<void()>& work);

}  // namespace heed::bench
