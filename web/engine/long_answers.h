// Requests about files dropped on the page and about long inputs made from them.
#pragma once

#include "engine/json.h"
#include "engine/session.h"

namespace heed::web {

// {"name", "pointer", "size"}: bytes lent by the page for the time of the request. Answers with the
// tensors that the file holds.
Json take_file(Session& session, const Request& request);
Json forget_files(Session& session, const Request& request);

// {"q": {"file", "name"}, "k": {...}, "causal", "scale", "head", "batch"}: begins a pass.
Json long_start(Session& session, const Request& request);
// Works off some rows: {"done": 0..1}, with {"answer": ...} once there are none left.
Json long_slice(Session& session, const Request& request);
Json long_end(Session& session, const Request& request);
// {"row", "col", "rows", "cols"}: weights, recomputed.
Json long_tile(Session& session, const Request& request);
// {"row", "col"}: one score spelled out, and its weight.
Json long_entry(Session& session, const Request& request);

}  // namespace heed::web
