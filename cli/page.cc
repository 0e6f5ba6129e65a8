// heed page: the page as one HTML file, with a problem in it, to be opened from disk or mailed.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/page_file.h"

namespace heed::cli {

void add_page(CLI::App& app) {
  struct Arguments {
    std::string problem, output;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "page", "Write the interactive page with a problem in it: one HTML file that works offline");
  command->add_option("PROBLEM", arguments->problem, "Problem file; - reads standard input")
      ->required();
  command->add_option("-o,--output", arguments->output,
                      "Where to write (default: standard output)");
  command->callback([arguments] {
    const std::string problem = self_contained_problem(arguments->problem);
    write_output(arguments->output, page_with_problem(read_page(), problem));
  });
}

}  // namespace heed::cli
