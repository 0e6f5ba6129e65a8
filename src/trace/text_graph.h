// The computational graph drawn with lines.
#pragma once

#include <string>
#include <vector>

#include "heed/trace.h"
#include "trace/text_grid.h"

namespace heed::explain {

std::vector<std::string> graph_lines(const Trace& trace, const TextStyle& style);

}  // namespace heed::explain
