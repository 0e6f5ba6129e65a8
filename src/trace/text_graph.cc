// Three lanes: queries, keys, values. Queries and keys meet in the scores, which run down the
// middle of their lanes; the values come in from the right at the output.
#include "trace/text_graph.h"

#include "trace/format.h"
#include "trace/masks.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr std::size_t kQuery = 6, kKey = 16, kValue = 26;    // columns of the lanes
constexpr std::size_t kScores = (kQuery + kKey) / 2;         // where queries and keys meet
constexpr std::size_t kOutput = (kScores + kValue + 1) / 2;  // where weights and values meet
constexpr std::size_t kNotes = 34;                           // what each box computes
constexpr std::size_t kNarrowestNotes = 16;                  // with less room than this: no notes

// Text laid out by column; every character drawn is one column wide.
class Row {
 public:
  Row& put(std::size_t column, std::string_view text) {
    while (cells_.size() < column + display_width(text)) cells_.emplace_back(" ");
    while (!text.empty()) {
      const std::string_view before = text;
      take_code_point(text);
      cells_[column++] = before.substr(0, before.size() - text.size());
    }
    return *this;
  }
  // Centred on a column.
  Row& centre(std::size_t column, std::string_view text) {
    return put(column - (display_width(text) - 1) / 2, text);
  }
  Row& line(std::size_t from, std::size_t to) {
    for (std::size_t column = from; column <= to; ++column) put(column, "─");
    return *this;
  }
  std::string text() const {
    std::string text;
    for (const std::string& cell : cells_) text += cell;
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  std::vector<std::string> cells_;
};

class Drawing {
 public:
  Drawing(const Trace& trace, const TextStyle& style)
      : trace_(trace), style_(style), nodes_(graph(trace)) {}

  std::vector<std::string> draw() {
    sources();
    const bool keys_twice = trace_.problem.values == Problem::Values::keys;
    Row meet = Row().line(kQuery, kKey).put(kQuery, "└").put(kScores, "┬");
    if (keys_twice)
      meet.line(kKey, kValue).put(kKey, "┴").put(kValue, "┐");
    else
      values(meet.put(kKey, "┘"));
    add(meet);
    for (const GraphNode& node : nodes_)
      if (on_the_scores(node)) box(node, kScores, node.id == "S");
    if (!has_values()) return std::move(lines_);
    add(Row().line(kScores, kValue).put(kScores, "└").put(kOutput, "┬").put(kValue, "┘"));
    ended_ = true;
    for (const GraphNode& node : nodes_)
      if (node.id == "O" || node.id == "C" || node.id == "Y") box(node, kOutput, node.id == "O");
    return std::move(lines_);
  }

 private:
  bool has(std::string_view id) const { return trace_.find(id) != nullptr; }
  bool has_values() const { return has("O"); }
  static bool on_the_scores(const GraphNode& node) {
    return node.id == "S" || node.id.starts_with("Z") || node.id == "M" || node.id == "A";
  }

  void add(const Row& row) { lines_.push_back(style_(row.text())); }

  // A row with a note beside it, which goes on beside copies of `below` where it is long.
  void annotated(Row row, const std::string& note, const Row& below) {
    if (note.empty() || style_.width < kNotes + kNarrowestNotes) return add(row);
    for (const std::string& line : wrapped(style_(note), style_.width - kNotes)) {
      add(row.put(kNotes, line));
      row = below;
    }
  }

  // The line of the values beside the scores, until it is used.
  Row& values(Row& row) const {
    if (has_values() && !ended_) row.put(kValue, "│");
    return row;
  }

  // X over the three lanes, or X over the queries and the context over keys and values.
  void sources() {
    const bool projects = has("X"), cross = has("X_KV"), v = has("V");
    const std::size_t last = v ? kValue : kKey;
    if (projects && cross) {
      add(Row().centre(kQuery, "X").centre(v ? (kKey + kValue) / 2 : kKey, "X_KV"));
      Row split = Row().put(kQuery, "│");
      if (v)
        split.line(kKey, kValue).put(kKey, "┌").put(kValue, "┐").put((kKey + kValue) / 2, "┴");
      else
        split.put(kKey, "│");
      add(split);
    } else if (projects) {
      add(Row().centre(v ? kKey : kScores, "X"));
      Row split = Row().line(kQuery, last).put(kQuery, "┌").put(last, "┐");
      add(split.put(v ? kKey : kScores, v ? "┼" : "┴"));
    }
    Row lanes = Row().put(kQuery, "Q").put(kKey, "K");
    if (v) lanes.put(kValue, "V");
    Row below = Row().put(kQuery, "│").put(kKey, "│");
    if (v) below.put(kValue, "│");
    annotated(lanes, projects ? projections() : "", below);
  }

  // "Q = X·W_Q, K = X·W_K, V = X·W_V"
  std::string projections() const {
    std::string text;
    for (const std::string_view id : {"Q", "K", "V"})
      if (const Node* node = trace_.find(id))
        text += (text.empty() ? "" : ", ") + describe(trace_, *node).formula;
    return text;
  }

  void box(const GraphNode& graph_node, std::size_t column, bool first) {
    if (!first) {
      Row stem = Row().put(column, "│");
      add(values(stem));
    }
    const Node& node = trace_.at(graph_node.id);
    const std::string label = graph_node.label.substr(0, graph_node.label.find(" ("));
    Row row = Row().centre(column, label);
    const StepText step = describe(trace_, node);
    std::string note = step.formula;
    if (node.op == Op::mask) note = "M: " + join_masks(mask_names(trace_, node.batch));
    Row below;
    const bool last = graph_node.id == nodes_.back().id;
    if (!last) below.put(column, "│");
    annotated(values(row), note, values(below));
  }

  const Trace& trace_;
  const TextStyle& style_;
  const std::vector<GraphNode> nodes_;
  std::vector<std::string> lines_;
  bool ended_ = false;
};

}  // namespace

std::vector<std::string> graph_lines(const Trace& trace, const TextStyle& style) {
  return Drawing(trace, style).draw();
}

}  // namespace heed::explain
