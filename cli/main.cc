// heed: the command-line tool. Exit codes: 0 done, 1 a difference was found, 2 bad input.
#include <cstdio>
#include <exception>
#include <new>

#include "cli/commands.h"
#include "heed/error.h"
#include "heed/version.h"

int main(int argc, char** argv) {
  using namespace heed::cli;
  CLI::App app{"heed: attention you can trust and see"};
  app.set_version_flag("--version", "heed " HEED_VERSION);
  app.require_subcommand(1);
  add_explain(app);
  add_check(app);
  add_diff(app);
  add_bench(app);
  add_info(app);
  add_run(app);
  add_page(app);
#if defined(HEED_WITH_SERVE)
  add_serve(app);
#endif

  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const ExitCode& code) {
    return code.value;
  } catch (const heed::Error& e) {
    std::fprintf(stderr, "heed: %s\n", e.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "heed: not enough memory\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "heed: %s\n", e.what());
  }
  return 2;
}
