// Two traces side by side: what differs, from the first step on.
#include <algorithm>
#include <array>
#include <cmath>

#include "heed/check.h"
#include "trace/format.h"
#include "trace/json_writer.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

std::string name_of(const Trace& trace, const Node& node) {
  std::string name = node.id;
  if (trace.sizes.heads > 1 && !node.every_head)
    name += " of head " + std::to_string(node.head + 1);
  if (trace.sizes.batch > 1 && !node.every_batch)
    name += " of sequence " + std::to_string(node.batch + 1);
  return name;
}

// Exactly this node: Trace::find would take a query head for any of a kv head's nodes.
const Node* same_node(const Trace& in, const std::string& id, std::size_t batch, std::size_t head) {
  const auto found = std::find_if(in.nodes.begin(), in.nodes.end(), [&](const Node& other) {
    return other.id == id && other.batch == batch && other.head == head;
  });
  return found == in.nodes.end() ? nullptr : &*found;
}

bool differ(double a, double b, double tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return false;
  if (!std::isfinite(a) || !std::isfinite(b)) return true;
  return std::abs(a - b) > tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

std::string entry_name(const Trace& trace, const Difference& d) {
  const Node& node = *same_node(trace, d.id, d.batch, d.head);
  return d.id + "[" + unique_labels(node.row_labels)[d.row] + "," +
         unique_labels(node.col_labels)[d.col] + "]" + name_of(trace, node).substr(d.id.size());
}

// As many digits as it takes to tell two numbers apart, at least four.
NumberFormat telling_apart(double a, double b) {
  const std::array<double, 2> both = {a, b};
  NumberStyle style;
  NumberFormat number = choose_format(both, style);
  while (++style.digits <= 17 && format(a, number) == format(b, number))
    number = choose_format(both, style);
  return number;
}

}  // namespace

DiffReport diff(const Trace& a, const Trace& b, double tolerance) {
  DiffReport report;
  for (const Node& node : a.nodes) {
    const Node* other = same_node(b, node.id, node.batch, node.head);
    if (other == nullptr) {
      report.shape.push_back(name_of(a, node) + " is in the first only");
      continue;
    }
    if (other->values.rows != node.values.rows || other->values.cols != node.values.cols) {
      report.shape.push_back(name_of(a, node) + " is " +
                             shape_text(node.values.rows, node.values.cols) + " in the first and " +
                             shape_text(other->values.rows, other->values.cols) + " in the second");
      continue;
    }
    const std::size_t before = report.differences.size();
    for (std::size_t i = 0; i < node.values.rows; ++i)
      for (std::size_t j = 0; j < node.values.cols; ++j)
        if (differ(node.values(i, j), other->values(i, j), tolerance))
          report.differences.push_back(
              {node.id, node.batch, node.head, i, j, node.values(i, j), other->values(i, j)});
    if (report.differences.size() == before) report.same.push_back(name_of(a, node));
  }
  for (const Node& node : b.nodes)
    if (same_node(a, node.id, node.batch, node.head) == nullptr)
      report.shape.push_back(name_of(b, node) + " is in the second only");
  return report;
}

std::string render_text(const Trace& a, const Trace& b, const DiffReport& report) {
  (void)b;
  std::string text;
  const auto list = [](const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
  };
  if (!report.same.empty()) text += "The same: " + list(report.same) + ".\n";
  for (const std::string& line : report.shape) text += "Not comparable: " + line + ".\n";
  if (report.differences.empty()) {
    if (report.shape.empty()) text += "No difference.\n";
    return text;
  }
  constexpr std::size_t kMostPerNode = 5;
  std::size_t in_node = 0, left_out = 0;
  std::string current;
  const auto close = [&] {
    if (left_out != 0) text += "  … " + with_commas(left_out) + " more\n";
    in_node = left_out = 0;
  };
  for (const Difference& d : report.differences) {
    const Node& node = *same_node(a, d.id, d.batch, d.head);
    if (const std::string name = name_of(a, node); name != current) {
      close();
      text += (current.empty() ? "First difference, in " : "Then in ") + name + ":\n";
      current = name;
    }
    if (++in_node > kMostPerNode) {
      ++left_out;
      continue;
    }
    const NumberFormat number = telling_apart(d.a, d.b);
    text +=
        "  " + entry_name(a, d) + "  " + format(d.a, number) + "  " + format(d.b, number) + "\n";
  }
  close();
  return text;
}

std::string to_json(const DiffReport& report) {
  JsonObject json;
  json.add("equal", report.shape.empty() && report.differences.empty() ? "true" : "false");
  json.add("same", json_strings(report.same)).add("shape", json_strings(report.shape));
  json.add("differences", json_array(report.differences, [](const Difference& d) {
             JsonObject one;
             one.add("id", json_string(d.id)).add("batch", std::to_string(d.batch));
             one.add("head", std::to_string(d.head)).add("row", std::to_string(d.row));
             one.add("col", std::to_string(d.col));
             one.add("a", json_number(d.a)).add("b", json_number(d.b));
             return one.text();
           }));
  return json.text();
}

}  // namespace heed::explain
