// Claim: twice as many tokens cost four times as much time, on the causal shape P4c and around it.
//
//   heed_bench_doubling [SECONDS]     prints each length with its cost over the length before
#include <cstdio>
#include <cstdlib>
#include <list>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/heed_run.h"
#include "bench/harness/turns.h"

int main(int argc, char** argv) {
  using namespace heed::bench;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  const Shape p4c = select_shapes(std::vector<std::string>{"P4c"}).front();
  std::vector<Shape> shapes(3, p4c);
  for (std::size_t n = 0; n < shapes.size(); ++n)
    shapes[n].n_q = shapes[n].n_k = p4c.n_k / 4 << n;  // up to P4c itself

  const Inputs inputs(shapes);
  std::list<AlignedVector<float>> outputs;
  std::list<HeedRun> runs;
  std::vector<Subject> subjects;
  for (const Shape& shape : shapes) {
    float* output = outputs.emplace_back(output_size(shape)).data();
    HeedRun& run = runs.emplace_back(inputs.problem(shape), 1, output);
    subjects.push_back({.run = [&run] { run.run(); }, .beside = [] {}});
  }
  take_turns(subjects, {.seconds = seconds, .rounds = 10, .min_runs = 5});

  std::printf("causal, 8 heads of 64, one thread\n tokens    best ms   times the one before\n");
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    const double now = best(subjects[n].seconds);
    std::printf("%7zu %10.2f", shapes[n].n_q, 1e3 * now);
    if (n > 0) std::printf("   %.3f", now / best(subjects[n - 1].seconds));
    std::printf("\n");
  }
}
