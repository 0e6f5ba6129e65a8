#include "engine/long_answers.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/matrices.h"
#include "engine/workings.h"

namespace heed::web {
namespace {

const explain::NumberStyle kStyle = {};

LongInput& input_of(Session& session) {
  if (!session.long_input) throw Error("long input: there is none");
  return *session.long_input;
}

std::size_t index(const Request& request, const char* key) {
  return request.value(key, std::size_t{0});
}

io::ArrayView tensor(const Session& session, const Request& which) {
  const std::size_t file = index(which, "file");
  if (file >= session.files.size())
    throw Error("long input: file " + std::to_string(file + 1) + " of " +
                std::to_string(session.files.size()));
  return session.files[file].view(which.at("name").get<std::string>());
}

Json summary(const LongInput& input) {
  const PooledMap& map = input.map();
  float largest = 0;
  for (const float weight : map.largest) largest = std::max(largest, weight);
  return Object()
      .add("queries", input.queries())
      .add("keys", input.keys())
      .add("dim", input.dim())
      .add("rows", map.rows)
      .add("cols", map.cols)
      .add("largest", explain::format(double{largest}, kStyle))
      .add("map", array_of(map.largest, [](float weight) { return Json(double{weight}); }));
}

}  // namespace

Json take_file(Session& session, const Request& request) {
  const auto pointer = request.at("pointer").get<std::uintptr_t>();
  std::vector<std::byte> bytes(request.at("size").get<std::size_t>());
  if (!bytes.empty())
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(pointer), bytes.size());
  io::TensorFile file(std::move(bytes), request.at("name").get<std::string>());
  const Json tensors = array_of(file.tensors(), [&](const io::TensorInfo& info) -> Json {
    return Object()
        .add("file", session.files.size())
        .add("name", info.name)
        .add("dtype", name_of(info.dtype))
        .add("shape", array_of(info.shape, [](std::size_t n) { return Json(n); }))
        .add("shapeText", io::to_string(info.shape));
  });
  session.files.push_back(std::move(file));
  return Object().add("format", session.files.back().format()).add("tensors", tensors);
}

Json forget_files(Session& session, const Request&) {
  session.files.clear();
  session.long_input.reset();
  return Object();
}

Json long_start(Session& session, const Request& request) {
  LongOptions options;
  options.causal = request.value("causal", false);
  if (request.contains("scale")) options.scale = request.at("scale").get<float>();
  options.head = index(request, "head");
  options.batch = index(request, "batch");
  session.long_input.emplace(tensor(session, request.at("q")), tensor(session, request.at("k")),
                             options);
  return Object();
}

Json long_slice(Session& session, const Request&) {
  LongInput& input = input_of(session);
  const bool finished = input.slice();
  Object json = Object().add("done", input.done());
  if (finished) json.add("answer", summary(input));
  return json;
}

Json long_end(Session& session, const Request&) {
  session.long_input.reset();
  return Object();
}

Json long_tile(Session& session, const Request& request) {
  const Tile tile = input_of(session).tile(index(request, "row"), index(request, "col"),
                                           index(request, "rows"), index(request, "cols"));
  CellOptions options{.style = kStyle, .bound = 1, .row = tile.row, .col = tile.col};
  for (const auto visible : tile.visible) options.hidden.push_back(visible == 0);
  return cells_json(tile.weights, options);
}

Json long_entry(Session& session, const Request& request) {
  const LongInput& input = input_of(session);
  const std::size_t row = index(request, "row"), col = index(request, "col");
  const Solved solved = solve(input.entry(row, col), kStyle);
  const Tile tile = input.tile(row, col, 1, 1);
  Object json;
  json.add("row", row)
      .add("col", col)
      .add("score", expansion_json(solved, solved.trace.at("S"), 0, 0))
      .add("lse", explain::format(double{input.lse()[row]}, kStyle))
      .add("hidden", tile.visible[0] == 0)
      .add("weight", explain::format(tile.weights(0, 0), kStyle))
      .add("scaled", explain::format(tile.scores(0, 0), kStyle));
  return json;
}

}  // namespace heed::web
