// Text inside HTML and SVG, and the drawing of the computational graph that both show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/trace.h"

namespace heed::explain {

// Safe as element content and inside a quoted attribute. Control characters are dropped.
std::string xml_escaped(std::string_view text);

// A number for a coordinate: at most two decimals, independent of the locale.
std::string coordinate(double value);

// The graph as SVG elements, sources on top, drawn from (0, 0).
struct GraphDrawing {
  double width = 0, height = 0;
  std::string elements;
};
GraphDrawing draw_graph(const std::vector<GraphNode>& nodes);

}  // namespace heed::explain
