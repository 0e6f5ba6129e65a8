// Marks for a solution worked by hand, and the first difference of two runs.
#pragma once

#include "engine/json.h"
#include "engine/session.h"

namespace heed::web {

// {"solution": text of a solution file}
Json check_solution(Session& session, const Request& request);
// Slots "main" and "other".
Json diff_slots(Session& session, const Request& request);

}  // namespace heed::web
