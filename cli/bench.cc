// heed bench: how fast heed is on this machine, as a fraction of what the machine can do.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/suite.h"
#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "heed/error.h"
#include "heed/machine.h"

namespace heed::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> shapes;
  std::vector<std::size_t> threads;
  bench::Pace pace;
  bool json = false;
};

std::vector<std::size_t> checked_threads(std::vector<std::size_t> wanted) {
  const std::size_t most = available_threads();
  if (wanted.empty()) wanted = {1, most};
  for (const std::size_t count : wanted) {
    if (count < 1 || count > most)
      throw Error("bench: cannot run on " + std::to_string(count) +
                  " threads; here it can be 1 to " + std::to_string(most));
  }
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

void check_pace(const bench::Pace& pace) {
  if (!(pace.seconds >= 0 && pace.seconds <= 3600))
    throw Error("bench: --seconds must be 0 to 3600, not " + std::to_string(pace.seconds));
  if (pace.rounds < 1 || pace.rounds > 10000)
    throw Error("bench: --rounds must be 1 to 10000, not " + std::to_string(pace.rounds));
}

// Throws ExitCode{1} if an answer was further from the truth than heed promises.
void check_answers(const bench::Report& report) {
  bool right = true;
  for (const bench::Result& result : report.results) {
    if (result.accuracy.vs_plain() <= bench::kErrorAllowed) continue;
    right = false;
    std::fprintf(stderr,
                 "heed: %s with %zu threads errs %.2f times as much as plain float (%.3g)\n",
                 label_of(result.shape).c_str(), result.threads, result.accuracy.vs_plain(),
                 result.accuracy.error);
  }
  if (!right) throw ExitCode{1};
}

void run_bench(const BenchOptions& options) {
  const std::vector<bench::Shape> shapes = bench::select_shapes(options.shapes);
  const std::vector<std::size_t> threads = checked_threads(options.threads);
  check_pace(options.pace);
  bench::Pace pace = options.pace;
  pace.min_runs = std::min(pace.min_runs, pace.rounds);
  const bool show_progress = is_terminal(stderr);
  const bench::Report report = bench::run_suite(shapes, threads, pace, [&](std::size_t round) {
    if (!show_progress) return;
    std::fprintf(stderr, round == pace.rounds ? "\r\033[K" : "\rround %zu of %zu done", round,
                 pace.rounds);
  });
  const std::string text = options.json ? bench_json(report) : bench_table(report);
  std::fputs(text.c_str(), stdout);
  check_answers(report);
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measures heed on named shapes, as a fraction of this machine's own limits");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("--shapes", options->shapes, "Names, for example P2,D1,D2-f16; default: all")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--threads", options->threads,
                   "Thread counts, for example 1,2; default: 1 and all")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--seconds", options->pace.seconds,
                   "Time for each shape at each thread count; P on\n"
                   "one thread runs 20 times for every second of it\n"
                   "at least, up to 32 times")
      ->capture_default_str();
  command->add_option("--rounds", options->pace.rounds, "Turns over which that time is spread")
      ->capture_default_str();
  command->add_flag("--json", options->json, "JSON instead of a table");
  command->footer(bench_shapes_help());
  command->callback([options] { run_bench(*options); });
}

}  // namespace heed::cli
