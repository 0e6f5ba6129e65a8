// What the engine remembers between two requests: the problems being shown, and a long input.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/long_input.h"
#include "heed/io.h"
#include "heed/numbers.h"
#include "heed/trace.h"

namespace heed::web {

// A problem worked out, with what is chosen once for all of its matrices.
struct Solved {
  explain::Trace trace;
  explain::NumberStyle style;
  std::map<std::string, double> bounds;  // id -> largest magnitude, over all heads and sequences
  std::vector<explain::NumberFormat> formats;  // of each node
};

struct Session {
  std::map<std::string, Solved> slots;  // "main", and "other" to compare it with
  std::vector<io::TensorFile> files;    // dropped on the page, in that order
  std::optional<LongInput> long_input;
};

// Throws when nothing has been solved in that slot yet.
const Solved& slot_of(const Session& session, const std::string& name);

}  // namespace heed::web
