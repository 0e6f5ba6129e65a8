// The engine of the page: one request in JSON, one answer in JSON.
//
// A request is {"do": name, ...}; an answer is an object, {"error": message} when the request could
// not be met. Every number that the page shows is in an answer as text, formatted here by the same
// functions as in the terminal; web/src/engine/types.ts says what the answers look like.
#pragma once

#include <string>
#include <string_view>

#include "engine/session.h"

namespace heed::web {

// Never throws.
std::string answer(Session& session, std::string_view request);

}  // namespace heed::web
