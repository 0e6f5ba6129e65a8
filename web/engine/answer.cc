#include "engine/answer.h"

#include <functional>
#include <new>
#include <string>
#include <utility>

#include "engine/checking.h"
#include "engine/json.h"
#include "engine/long_answers.h"
#include "engine/matrices.h"
#include "engine/workings.h"
#include "heed/render.h"
#include "heed/version.h"

namespace heed::web {
namespace {

using explain::Node;

std::size_t index(const Request& request, const char* key) {
  return request.value(key, std::size_t{0});
}

const Solved& slot(const Session& session, const Request& request) {
  return slot_of(session, request.value("slot", std::string("main")));
}

const Node& node(const Solved& solved, const Request& request) {
  const auto id = request.at("id").get<std::string>();
  const std::size_t batch = index(request, "batch"), head = index(request, "head");
  // A place names a matrix by its own head, which counts key/value heads for K and V.
  for (const Node& candidate : solved.trace.nodes)
    if (candidate.id == id && candidate.batch == batch && candidate.head == head) return candidate;
  return solved.trace.at(id, batch, head);
}

Json version(Session&, const Request&) {
  return Object().add("version", HEED_VERSION);
}

// The entry that was being looked at, if the problem still has it: sent along, so that an edit is
// drawn once and not twice.
Json expansion_or_null(const Solved& solved, const Request& entry) {
  const Node* found = nullptr;
  for (const Node& candidate : solved.trace.nodes)
    if (candidate.id == entry.at("id") && candidate.batch == index(entry, "batch") &&
        candidate.head == index(entry, "head"))
      found = &candidate;
  const std::size_t row = index(entry, "row"), col = index(entry, "col");
  if (found == nullptr || row >= found->values.rows || col >= found->values.cols) return {};
  return expansion_json(solved, *found, row, col);
}

Json solve_problem(Session& session, const Request& request) {
  explain::NumberStyle style;
  style.digits = request.value("digits", style.digits);
  Solved solved = solve(explain::parse_problem(request.at("problem").get<std::string>()), style);
  const Json json =
      Object()
          .add_all(solved_json(solved, request.value("echo", true)).text())
          .add("expansion",
               request.contains("entry") ? expansion_or_null(solved, request.at("entry")) : Json());
  session.slots.insert_or_assign(request.value("slot", std::string("main")), std::move(solved));
  return json;
}

Json window(Session& session, const Request& request) {
  const Solved& solved = slot(session, request);
  return window_json(solved, node(solved, request), index(request, "row"), index(request, "col"),
                     index(request, "rows"), index(request, "cols"));
}

Json expand_entry(Session& session, const Request& request) {
  const Solved& solved = slot(session, request);
  return expansion_json(solved, node(solved, request), index(request, "row"),
                        index(request, "col"));
}

Json softmax(Session& session, const Request& request) {
  return softmax_json(slot(session, request), index(request, "batch"), index(request, "head"),
                      index(request, "row"));
}

explain::View parse_view(const std::string& name) {
  using enum explain::View;
  for (const explain::View view : {row, column, outer})
    if (name == name_of(view)) return view;
  throw Error("view: is " + name + ", expected row, column or outer");
}

Json combination(Session& session, const Request& request) {
  const Solved& solved = slot(session, request);
  return combination_json(solved, node(solved, request),
                          parse_view(request.at("view").get<std::string>()),
                          index(request, "index"));
}

Json difference(Session& session, const Request& request) {
  const Request &a = request.at("a"), &b = request.at("b");
  const Solved &solved_a = slot(session, a), &solved_b = slot(session, b);
  return difference_json(solved_a, node(solved_a, a), solved_b, node(solved_b, b));
}

Json render_as(Session& session, const Request& request) {
  const Solved& solved = slot(session, request);
  explain::RenderOptions options;
  options.digits = solved.style.digits;
  const auto format = explain::parse_format(request.at("format").get<std::string>());
  return Object().add("text", render(solved.trace, format, options));
}

// The problem of a sentence, with an embedding drawn from the seed.
Json generate_problem(Session&, const Request& request) {
  explain::GenerateOptions options;
  options.tokens = explain::split_words(request.at("text").get<std::string>());
  options.dim = request.value("dim", options.dim);
  options.heads = request.value("heads", options.heads);
  options.seed = request.value("seed", options.seed);
  return Object().add("problem", Json::raw(to_json(explain::generate(options))));
}

using Handler = Json (*)(Session&, const Request&);

const std::map<std::string, Handler, std::less<>>& handlers() {
  static const std::map<std::string, Handler, std::less<>> all = {
      {"version", version},           {"solve", solve_problem},   {"window", window},
      {"expand", expand_entry},       {"softmax", softmax},       {"combine", combination},
      {"difference", difference},     {"render", render_as},      {"generate", generate_problem},
      {"check", check_solution},      {"diff", diff_slots},       {"file", take_file},
      {"forget-files", forget_files}, {"long-start", long_start}, {"long-slice", long_slice},
      {"long-end", long_end},         {"long-tile", long_tile},   {"long-entry", long_entry},
  };
  return all;
}

Json dispatch(Session& session, std::string_view text) {
  const Request request = Request::parse(text);
  const auto name = request.at("do").get<std::string>();
  const auto handler = handlers().find(name);
  if (handler == handlers().end()) throw Error("the engine knows no request " + name);
  return handler->second(session, request);
}

Json failure(const std::string& message) {
  return Object().add("error", message);
}

}  // namespace

std::string answer(Session& session, std::string_view request) {
  try {
    return dispatch(session, request).text();
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for this problem").text();
  } catch (const Request::exception& e) {
    return failure(std::string("request: ") + e.what()).text();
  } catch (const std::exception& e) {
    return failure(e.what()).text();
  }
}

}  // namespace heed::web
