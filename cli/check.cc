// heed check PROBLEM [SOLUTION]: marks a hand-worked solution.
#include "heed/check.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "heed/io.h"

namespace heed::cli {

void add_check(CLI::App& app) {
  struct Arguments {
    std::string problem, solution;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("check", "Mark a hand-worked solution, step by step");
  command->add_option("PROBLEM", arguments->problem, "Problem file (JSON), or - for standard input")
      ->required();
  command->add_option("SOLUTION", arguments->solution,
                      "Solution file with claimed values; default: \"solution\" in the problem");
  command->add_flag("--json", arguments->json, "Print the marks as JSON");
  command->footer(
      "Exit code 0: all correct. 1: something is wrong, carried on, or left out. 2: bad input.\n"
      "Example: heed check examples/i-love-ai.json examples/i-love-ai.solution.json");
  command->callback([arguments] {
    const std::string text = io::read_text(arguments->problem);
    const explain::Trace trace = explain::trace(explain::parse_problem(
        text, std::filesystem::path(arguments->problem).parent_path(), arguments->problem));
    std::optional<explain::Solution> solution;
    if (arguments->solution.empty()) {
      solution = explain::solution_of_problem(text, trace, arguments->problem);
      if (!solution)
        throw Error(arguments->problem +
                    ": has no \"solution\"; name a solution file: heed check PROBLEM SOLUTION");
    } else {
      solution =
          explain::parse_solution(io::read_text(arguments->solution), trace, arguments->solution);
    }
    const explain::CheckReport report = explain::check(trace, *solution);
    fmt::print("{}", arguments->json ? explain::to_json(report) + "\n"
                                     : explain::render_text(trace, report));
    if (!report.passed()) throw ExitCode{1};
  });
}

}  // namespace heed::cli
