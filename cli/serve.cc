// heed serve: the page on http://localhost, and nothing else.
//
// Listens on the loopback address only and answers one path. A request that was sent under another
// name than localhost is refused, so that no page of another site can reach it by renaming.
#include <httplib.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/page_file.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr int kDefaultPort = 8642;

bool is_local_name(const std::string& host) {
  const std::string name = host.substr(0, host.find(':'));
  return name == "localhost" || name == kLoopback;
}

void answer(const httplib::Request& request, httplib::Response& response, const std::string& page) {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cache-Control", "no-cache");
  if (!is_local_name(request.get_header_value("Host"))) {
    response.status = 403;
    response.set_content("heed serves localhost only\n", "text/plain");
    return;
  }
  // In pieces rather than as one text, which the server would compress anew for every visit: with
  // brotli that takes seconds, and on one machine there is nothing to be gained by it.
  response.set_content_provider(
      page.size(), "text/html; charset=utf-8",
      [&page](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(page.data() + offset, length);
      });
}

// A port that someone listens on is an error, not to be shared; one just left may be taken again.
void take_the_port_alone(socket_t socket) {
#if !defined(_WIN32)
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
#else
  static_cast<void>(socket);
#endif
}

void serve(const std::string& page, int port) {
  httplib::Server server;
  const auto handler = [&page](const httplib::Request& request, httplib::Response& response) {
    answer(request, response, page);
  };
  server.Get("/", handler);
  server.Get("/index.html", handler);
  server.set_socket_options(take_the_port_alone);
  const int bound = port == 0 ? server.bind_to_any_port(kLoopback)
                              : (server.bind_to_port(kLoopback, port) ? port : -1);
  if (bound <= 0)
    throw Error("serve: port " + std::to_string(port) +
                " of localhost cannot be used; choose another with --port, or any with --port 0");
  std::printf("heed: the page is on http://localhost:%d/   (Ctrl-C ends it)\n", bound);
  std::fflush(stdout);
  server.listen_after_bind();
}

}  // namespace

void add_serve(CLI::App& app) {
  struct Arguments {
    std::string problem;
    int port = kDefaultPort;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve the interactive page on localhost, for this machine only");
  command->add_option("PROBLEM", arguments->problem, "Problem file to begin with");
  command->add_option("-p,--port", arguments->port, "Port; 0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->callback([arguments] {
    std::string page = read_page();
    if (!arguments->problem.empty())
      page = page_with_problem(page, self_contained_problem(arguments->problem));
    serve(page, arguments->port);
  });
}

}  // namespace heed::cli
