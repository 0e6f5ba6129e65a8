// The subcommands of `heed`. Each adds itself to the application and runs in its callback.
//
// A command reports bad input by throwing heed::Error (exit code 2) and a found difference by
// throwing ExitCode{1}; main() prints and maps them.
#pragma once

#include <CLI/CLI.hpp>

namespace heed::cli {

struct ExitCode {
  int value = 0;
};

void add_bench(CLI::App& app);
void add_check(CLI::App& app);
void add_diff(CLI::App& app);
void add_explain(CLI::App& app);
void add_info(CLI::App& app);
void add_run(CLI::App& app);
void add_page(CLI::App& app);
void add_serve(CLI::App& app);  // with cpp-httplib only

}  // namespace heed::cli
