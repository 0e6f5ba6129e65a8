#include "trace/xml.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr double kBoxHeight = 30, kRowGap = 26, kColumnGap = 18, kCharacter = 8.2, kPadding = 14;

struct Placed {
  double x = 0, y = 0, width = 0;
  std::size_t level = 0;
};

double width_of(const GraphNode& node) {
  return kCharacter * static_cast<double>(display_width(node.label)) + kPadding * 2;
}

// The level of a node is one more than its deepest input.
std::map<std::string, Placed> place(const std::vector<GraphNode>& nodes, double& width,
                                    double& height) {
  std::map<std::string, Placed> placed;
  std::size_t levels = 0;
  for (const GraphNode& node : nodes) {
    Placed& p = placed[node.id];
    p.width = width_of(node);
    for (const std::string& input : node.inputs)
      p.level = std::max(p.level, placed[input].level + 1);
    levels = std::max(levels, p.level + 1);
  }
  // A source stands just above the first node that uses it.
  for (const GraphNode& source : nodes) {
    if (!source.inputs.empty()) continue;
    std::size_t level = levels;
    for (const GraphNode& node : nodes)
      if (std::find(node.inputs.begin(), node.inputs.end(), source.id) != node.inputs.end())
        level = std::min(level, placed[node.id].level);
    if (level < levels && level > 0) placed[source.id].level = level - 1;
  }
  // Each level from left to right: below the middle of its inputs, as far as the neighbour allows.
  std::vector<double> free_from(levels, 0);
  for (std::size_t level = 0; level < levels; ++level) {
    for (const GraphNode& node : nodes) {
      Placed& p = placed[node.id];
      if (p.level != level) continue;
      double middle = 0;
      for (const std::string& input : node.inputs)
        middle +=
            (placed[input].x + placed[input].width / 2) / static_cast<double>(node.inputs.size());
      p.x = std::max(free_from[level], node.inputs.empty() ? 0 : middle - p.width / 2);
      p.y = static_cast<double>(level) * (kBoxHeight + kRowGap);
      free_from[level] = p.x + p.width + kColumnGap;
      width = std::max(width, p.x + p.width);
    }
  }
  height = static_cast<double>(levels) * (kBoxHeight + kRowGap) - kRowGap;
  return placed;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') result += c;
    }
  }
  return result;
}

std::string coordinate(double value) {
  const auto hundredths = static_cast<long long>(std::llround(value * 100));
  std::string text = std::to_string(std::abs(hundredths) / 100);
  if (const auto rest = std::abs(hundredths) % 100; rest != 0) {
    text += rest < 10 ? ".0" : ".";
    text += std::to_string(rest % 10 == 0 ? rest / 10 : rest);
  }
  return hundredths < 0 ? "-" + text : text;
}

GraphDrawing draw_graph(const std::vector<GraphNode>& nodes) {
  GraphDrawing drawing;
  if (nodes.empty()) return drawing;
  const std::map<std::string, Placed> placed = place(nodes, drawing.width, drawing.height);
  std::string& out = drawing.elements;
  for (const GraphNode& node : nodes) {
    const Placed& to = placed.at(node.id);
    for (const std::string& input : node.inputs) {
      const Placed& from = placed.at(input);
      const double x1 = from.x + from.width / 2, y1 = from.y + kBoxHeight;
      const double x2 = to.x + to.width / 2, y2 = to.y;
      // Straight down past the levels between, then over to the target.
      const double bend = y2 - kRowGap, middle = (bend + y2) / 2;
      out += "<path d=\"M" + coordinate(x1) + " " + coordinate(y1) + " L" + coordinate(x1) + " " +
             coordinate(bend) + " C" + coordinate(x1) + " " + coordinate(middle) + " " +
             coordinate(x2) + " " + coordinate(middle) + " " + coordinate(x2) + " " +
             coordinate(y2 - 5) + "\" fill=\"none\" stroke=\"#667\" stroke-width=\"1.5\"/>\n";
      out += "<path d=\"M" + coordinate(x2 - 4) + " " + coordinate(y2 - 6) + " L" + coordinate(x2) +
             " " + coordinate(y2) + " L" + coordinate(x2 + 4) + " " + coordinate(y2 - 6) +
             " Z\" fill=\"#667\"/>\n";
    }
  }
  for (const GraphNode& node : nodes) {
    const Placed& p = placed.at(node.id);
    if (!node.given)
      out += "<rect x=\"" + coordinate(p.x) + "\" y=\"" + coordinate(p.y) + "\" width=\"" +
             coordinate(p.width) + "\" height=\"" + coordinate(kBoxHeight) +
             "\" rx=\"6\" fill=\"#eef3f8\" stroke=\"#8aa\"/>\n";
    out += "<text x=\"" + coordinate(p.x + p.width / 2) + "\" y=\"" +
           coordinate(p.y + kBoxHeight / 2 + 5) + "\" text-anchor=\"middle\"" +
           (node.given ? " font-style=\"italic\"" : "") + ">" + xml_escaped(node.label) +
           "</text>\n";
  }
  return drawing;
}

}  // namespace heed::explain
