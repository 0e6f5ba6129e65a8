// Claim: twice as many tokens cost four times as much time, on the causal shape P4c and around it.
//
//   heed_bench_doubling [ROUNDS]     prints each length with its cost over the length before
//
// In every round each length runs as often as makes equal work of all of them, one length right
// after the other: what slows the machine down for a while then slows all of them alike. The ratio
// is the median over the rounds.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/heed_run.h"
#include "bench/harness/turns.h"

int main(int argc, char** argv) {
  using namespace heed::bench;
  const std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 9;
  if (rounds == 0) {
    std::fprintf(stderr, "heed_bench_doubling: ROUNDS must be a number from 1 on, not %s\n",
                 argv[1]);
    return 2;
  }
  const Shape p4c = select_shapes(std::vector<std::string>{"P4c"}).front();
  struct Length {
    Shape shape;
    std::size_t runs;  // that are as much work as one of P4c
  };
  std::vector<Length> lengths = {{p4c, 16}, {p4c, 4}, {p4c, 1}};
  std::vector<Shape> shapes;
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    lengths[n].shape.n_q = lengths[n].shape.n_k = p4c.n_k / 4 << n;  // up to P4c itself
    shapes.push_back(lengths[n].shape);
  }

  const Inputs inputs(shapes);
  std::list<AlignedVector<float>> outputs;
  std::list<HeedRun> runs;
  std::vector<Subject> subjects;
  for (const Length& length : lengths) {
    float* output = outputs.emplace_back(output_size(length.shape)).data();
    HeedRun& run = runs.emplace_back(inputs.problem(length.shape), 1, output);
    subjects.push_back({.run =
                            [&run, times = length.runs] {
                              for (std::size_t n = 0; n < times; ++n) run.run();
                            },
                        .beside = [] {}});
  }
  take_turns(subjects, {.seconds = 0, .rounds = rounds, .min_runs = rounds});

  std::printf("causal, 8 heads of 64, one thread\n tokens    best ms   times the one before\n");
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const auto times = static_cast<double>(lengths[n].runs);
    std::printf("%7zu %10.2f", lengths[n].shape.n_q, 1e3 * best(subjects[n].seconds) / times);
    if (n > 0) {
      const double work = static_cast<double>(lengths[n - 1].runs) / times;
      std::vector<double> ratios;
      for (std::size_t round = 0; round < rounds; ++round)
        ratios.push_back(work * subjects[n].seconds[round] / subjects[n - 1].seconds[round]);
      std::printf("   %.3f", median(ratios));
    }
    std::printf("\n");
  }
}
