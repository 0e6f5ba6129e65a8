// heed diff A B: compares two problems worked out, step by step.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "heed/check.h"

namespace heed::cli {

void add_diff(CLI::App& app) {
  struct Arguments {
    std::string a, b;
    double tolerance = 0;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("diff", "Compare two problems, step by step");
  command->add_option("A", arguments->a, "Problem file")->required();
  command->add_option("B", arguments->b, "Problem file")->required();
  command
      ->add_option("--tolerance", arguments->tolerance,
                   "Differences up to this, relative to the larger value, do not count (default 0)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", arguments->json, "Print the differences as JSON");
  command->footer("Exit code 0: the same. 1: they differ. 2: bad input.");
  command->callback([arguments] {
    const explain::Trace a = explain::trace(explain::read_problem(arguments->a));
    const explain::Trace b = explain::trace(explain::read_problem(arguments->b));
    const explain::DiffReport report = explain::diff(a, b, arguments->tolerance);
    fmt::print("{}", arguments->json ? explain::to_json(report) + "\n"
                                     : explain::render_text(a, b, report));
    if (!report.shape.empty() || !report.differences.empty()) throw ExitCode{1};
  });
}

}  // namespace heed::cli
