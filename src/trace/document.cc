#include "trace/document.h"

#include <algorithm>

#include "trace/width.h"

namespace heed::explain {
namespace {

// Sums of more terms than this are shortened, unless every number was asked for.
constexpr std::size_t kMostTerms = 12;

// A softmax of up to this many rows is worked row by row without being asked.
constexpr std::size_t kFewRows = 4;

// Builds the blocks of one document, in order.
class Builder {
 public:
  Builder(const Trace& trace, const RenderOptions& options)
      : trace_(trace), options_(options), style_(number_style(options)) {}

  std::vector<Block> build() {
    if (options_.at) {
      entry(*options_.at);
    } else if (options_.detail == Detail::output) {
      outputs();
    } else {
      if (options_.steps.empty()) opening();
      if (in_lanes())
        lanes();
      else
        for_each_batch([&](std::size_t batch) { sequence(batch); });
    }
    if (options_.kernel) blocks_.emplace_back(Comparison{*options_.kernel});
    return std::move(blocks_);
  }

 private:
  template <class F>
  void for_each_batch(F f) {
    for (std::size_t batch = 0; batch < trace_.sizes.batch; ++batch)
      if (!options_.batch || *options_.batch == batch) f(batch);
  }

  bool everything() const { return options_.detail >= Detail::entries; }

  void opening() {
    const Problem& problem = trace_.problem;
    blocks_.emplace_back(Heading{
        1, problem.title.empty() ? "Attention, step by step" : visible_token(problem.title)});
    Facts facts;
    facts.items.emplace_back("inputs", describe(problem.inputs));
    if (!problem.w_q.empty()) facts.items.emplace_back("weights", describe(problem.weights));
    shapes(facts);
    parameters(facts);
    blocks_.emplace_back(std::move(facts));
    blocks_.emplace_back(Graph{graph(trace_)});
  }

  void shapes(Facts& facts) const {
    const Sizes& s = trace_.sizes;
    std::string text;
    for (const char* id :
         {"X", "X_KV", "W_Q", "W_K", "W_V", "Q", "K", "V", "S", "O", "C", "W_O", "Y"})
      if (const Node* node = trace_.find(id))
        text += (text.empty() ? "" : ", ") + node->id + " " +
                shape_text(node->values.rows, node->values.cols);
    facts.items.emplace_back("shapes", text);
    if (s.batch > 1) facts.items.emplace_back("batch", std::to_string(s.batch) + " sequences");
    if (s.heads > 1)
      facts.items.emplace_back(
          "heads", std::to_string(s.heads) + (s.kv_heads == s.heads
                                                  ? ""
                                                  : " for queries, " + std::to_string(s.kv_heads) +
                                                        " for keys and values"));
  }

  // d·(2m + l)·T for the heads, T·l·d for the output: the counts of the notes.
  void parameters(Facts& facts) const {
    const Sizes& s = trace_.sizes;
    if (s.parameters() == 0) return;
    // The formulas hold where keys and values have the heads and the model size of the queries.
    const bool plain = s.kv_heads == s.heads && s.d_context == s.d &&
                       trace_.find("W_Q") != nullptr && trace_.find("W_K") != nullptr;
    const auto n = [](std::size_t size) { return std::to_string(size); };
    std::string text;
    if (plain && trace_.find("W_V") != nullptr)
      text =
          "d·(2m + l)·T = " + n(s.d) + "·(2·" + n(s.m) + " + " + n(s.l) + ")·" + n(s.heads) + " = ";
    else if (plain)  // no values, or keys that serve as values
      text = "d·2m·T = " + n(s.d) + "·2·" + n(s.m) + "·" + n(s.heads) + " = ";
    text += with_commas(s.head_parameters) + " in the heads";
    if (s.output_parameters != 0)
      text += ", T·l·d = " + n(s.heads) + "·" + n(s.l) + "·" + n(s.d_out) + " = " +
              with_commas(s.output_parameters) + " in W_O";
    if (s.bias_parameters != 0) text += ", " + with_commas(s.bias_parameters) + " in biases";
    if (s.output_parameters + s.bias_parameters != 0)
      text += ": " + with_commas(s.parameters()) + " in all";
    facts.items.emplace_back("parameters", text);
  }

  void outputs() {
    for_each_batch([&](std::size_t batch) {
      if (trace_.sizes.batch > 1) batch_heading(batch);
      const Node& last = trace_.output(batch);
      const std::size_t heads = last.every_head ? 1 : trace_.sizes.heads;
      for (std::size_t head = 0; head < heads; ++head) {
        Grid grid = make_grid(trace_, trace_.output(batch, head), options_);
        if (heads > 1) grid.head = head + 1;
        blocks_.emplace_back(Equation{{std::move(grid)}, {}});
      }
    });
  }

  void batch_heading(std::size_t batch) { blocks_.emplace_back(Heading{2, batch_name(batch)}); }

  // "Sequence 2 of 3: I love AI"
  std::string batch_name(std::size_t batch) const {
    std::string text =
        "Sequence " + std::to_string(batch + 1) + " of " + std::to_string(trace_.sizes.batch);
    const auto& tokens = trace_.problem.sequences[batch].tokens;
    std::string words;
    for (const std::string& token : tokens)
      words += (words.empty() ? "" : " ") + visible_token(token);
    return words.empty() ? text : text + ": " + fit(words, 60);
  }

  std::vector<std::string> steps_of(std::size_t batch) const {
    std::vector<std::string> ids;
    for (const Node& node : trace_.nodes)
      if (node.batch == batch && node.op != Op::input) ids.push_back(node.id);
    return ids;
  }

  // Sequences that take the same steps advance together, step by step.
  bool in_lanes() const {
    if (trace_.sizes.batch < 2 || trace_.sizes.heads > 1 || options_.batch) return false;
    for (std::size_t batch = 1; batch < trace_.sizes.batch; ++batch)
      if (steps_of(batch) != steps_of(0)) return false;
    return true;
  }

  void lanes() {
    const auto lane = [&](std::size_t batch) {
      blocks_.emplace_back(Paragraph{batch_name(batch)});
    };
    if (shows_given()) {
      given_head();
      for_each_batch([&](std::size_t batch) {
        lane(batch);
        blocks_.emplace_back(given_equation(batch));
      });
    }
    for (const std::string& id : steps_of(0)) {
      StepText text = describe(trace_, trace_.at(id));
      if (!wanted(text)) continue;
      blocks_.emplace_back(StepHead{std::move(text), ""});
      for_each_batch([&](std::size_t batch) {
        lane(batch);
        step_body(trace_.at(id, batch));
      });
    }
  }

  // All steps of one sequence: what heads share, head by head, what joins them.
  void sequence(std::size_t batch) {
    if (trace_.sizes.batch > 1) batch_heading(batch);
    const std::size_t heads = trace_.sizes.heads;
    given(batch);
    for (std::size_t head = 0; head < heads; ++head) {
      if (heads > 1)
        blocks_.emplace_back(
            Heading{2, "Head " + std::to_string(head + 1) + " of " + std::to_string(heads)});
      const std::size_t group = heads / trace_.sizes.kv_heads, leader = head - head % group;
      if (leader != head && options_.steps.empty())
        blocks_.emplace_back(
            Paragraph{"Keys and values are those of head " + std::to_string(leader + 1) + "."});
      for (const Node& node : trace_.nodes) {
        if (node.op == Op::input || node.every_head || !belongs(node, batch, head)) continue;
        const bool shown = leader != head && belongs(node, batch, leader);
        if (!shown) step(node);
      }
    }
    bool joined = false;
    for (const Node& node : trace_.nodes) {
      if (node.op == Op::input || !node.every_head || node.batch != batch) continue;
      if (!std::exchange(joined, true) && heads > 1 && options_.steps.empty())
        blocks_.emplace_back(Heading{2, "All heads together"});
      step(node);
    }
  }

  // Whether a node is the one that query head `head` of the sequence uses.
  bool belongs(const Node& node, std::size_t batch, std::size_t head) const {
    return trace_.find(node.id, batch, head) == &node;
  }

  // Given matrices that no product of a step shows: q, k, v typed in by hand.
  bool shows_given() const { return options_.steps.empty() && trace_.sizes.d == 0; }

  void given(std::size_t batch) {
    if (!shows_given()) return;
    given_head();
    blocks_.emplace_back(given_equation(batch));
  }

  void given_head() {
    StepHead head;
    head.text.key = "given";
    head.text.title = "Given";
    blocks_.emplace_back(std::move(head));
  }

  Equation given_equation(std::size_t batch) const {
    Equation equation;
    for (const Node& node : trace_.nodes) {
      if (node.op != Op::input || node.batch != batch || node.every_batch || node.id == "B")
        continue;
      Grid grid = make_grid(trace_, node, options_);
      if (trace_.sizes.heads > 1 && !node.every_head) grid.head = node.head + 1;
      if (!equation.grids.empty()) equation.operators.emplace_back("");
      equation.grids.push_back(std::move(grid));
    }
    return equation;
  }

  bool wanted(const StepText& text) const {
    return options_.steps.empty() || std::find(options_.steps.begin(), options_.steps.end(),
                                               text.key) != options_.steps.end();
  }

  void step(const Node& node) {
    StepText text = describe(trace_, node);
    if (!wanted(text)) return;
    blocks_.emplace_back(StepHead{std::move(text), whose(node)});
    step_body(node);
  }

  void step_body(const Node& node) {
    blocks_.emplace_back(equation(node, {}, {}));
    if (node.values.empty()) return;
    const auto [row, col] = sample(node);
    if (node.op == Op::matmul && options_.view != View::entry) {
      parts(node, row, col);
    } else if (node.op == Op::softmax) {
      softmax(node);
    } else if (everything()) {
      for (std::size_t i = 0; i < node.values.rows; ++i)
        for (std::size_t j = 0; j < node.values.cols; ++j) working(node, i, j);
    } else if (node.op != Op::concat) {
      working(node, row, col);
    }
  }

  // "head 2", where the page does not already say so.
  std::string whose(const Node& node) const {
    if (!options_.at) return "";
    std::string text;
    if (trace_.sizes.batch > 1) text = "sequence " + std::to_string(node.batch + 1);
    const bool several = trace_.sizes.heads > 1 && !node.every_head;
    if (several && !text.empty()) text += ", ";
    if (several) text += head_word(node) + std::to_string(node.head + 1);
    return text;
  }

  // Keys and values may count heads of their own.
  std::string head_word(const Node& node) const {
    return trace_.sizes.kv_heads != trace_.sizes.heads && (node.id == "K" || node.id == "V")
               ? "key/value head "
               : "head ";
  }

  // The entry that shows most: the last one that is visible; of a mask the first that is hidden.
  std::pair<std::size_t, std::size_t> sample(const Node& node) const {
    const Matrix& m = node.values;
    if (node.op == Op::mask)
      for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t j = 0; j < m.cols; ++j)
          if (is_hidden(trace_, node, i, j)) return {i, j};
    std::size_t col = m.cols - 1;
    while (col > 0 && is_hidden(trace_, node, m.rows - 1, col)) --col;
    return {m.rows - 1, col};
  }

  void working(const Node& node, std::size_t i, std::size_t j) {
    ExpandOptions expand_options;
    if (options_.detail != Detail::full) expand_options.max_terms = kMostTerms;
    blocks_.emplace_back(Working{expand(trace_, node, i, j, expand_options), style_});
  }

  // Every row of a few; else the first that has a choice to make, and one whose naive formula
  // fails.
  void softmax(const Node& node) {
    const std::size_t rows = node.values.rows;
    const bool all = everything() || rows <= kFewRows;
    std::optional<std::size_t> typical, special;
    for (std::size_t row = 0; row < rows && !all; ++row) {
      const SoftmaxRow worked = softmax_row(trace_, node.batch, node.head, row);
      const auto seen = std::count(worked.visible.begin(), worked.visible.end(), true);
      if (!typical && (seen > 1 || row + 1 == rows)) typical = row;
      if (!special && (worked.naive_fails || worked.fully_masked)) special = row;
    }
    for (std::size_t row = 0; row < rows; ++row)
      if (all || row == typical || row == special) softmax_table(node, row);
  }

  void softmax_table(const Node& node, std::size_t row) {
    blocks_.emplace_back(SoftmaxTable{unique_labels(node.row_labels)[row],
                                      unique_labels(node.col_labels),
                                      softmax_row(trace_, node.batch, node.head, row), style_});
  }

  void parts(const Node& node, std::size_t row, std::size_t col) {
    const std::size_t rows = options_.view == View::row && everything() ? node.values.rows : 0;
    const std::size_t cols = options_.view == View::column && everything() ? node.values.cols : 0;
    const auto add = [&](std::size_t index) {
      Parts parts;
      parts.combination = combine(trace_, node, options_.view, index);
      parts.col_labels =
          unique_labels(options_.view == View::column ? node.row_labels : node.col_labels);
      parts.style = style_;
      if (options_.detail != Detail::full) leave_out_the_middle(parts);
      blocks_.emplace_back(std::move(parts));
    };
    if (rows + cols == 0) add(options_.view == View::column ? col : row);
    for (std::size_t index = 0; index < rows + cols; ++index) add(index);
  }

  static void leave_out_the_middle(Parts& parts) {
    std::vector<Part>& all = parts.combination.parts;
    if (all.size() <= kMostShown) return;
    constexpr std::size_t kTail = 2;
    parts.gap = kMostTerms - kTail;
    parts.left_out = all.size() - kMostTerms;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(parts.gap), all.end() - kTail);
  }

  // One entry alone: its step, with the row and column it comes from marked.
  void entry(const EntryName& at) {
    const Node& node = trace_.at(at.id, at.batch, at.head);
    blocks_.emplace_back(StepHead{describe(trace_, node), whose(node)});
    blocks_.emplace_back(equation(node, at.row, at.col));
    if (node.op == Op::matmul && options_.view != View::entry) parts(node, at.row, at.col);
    working(node, at.row, at.col);
    if (node.op == Op::softmax) softmax_table(node, at.row);
  }

  // The operation as grids and signs, with entry (row, col) of the result marked where given.
  Equation equation(const Node& node, std::optional<std::size_t> row,
                    std::optional<std::size_t> col) {
    Equation result;
    const auto add = [&](const Node& shown, const std::string& sign, bool transposed,
                         std::optional<std::size_t> mark_row, std::optional<std::size_t> mark_col) {
      Grid grid = make_grid(trace_, shown, options_, transposed, {mark_row, mark_col});
      if (node.op == Op::concat && &shown != &node) grid.head = shown.head + 1;
      if (!result.grids.empty()) result.operators.push_back(sign);
      result.grids.push_back(std::move(grid));
    };
    switch (node.op) {
      case Op::input: break;
      case Op::matmul:
        add(trace_.input(node, 0), "", false, row, {});
        add(trace_.input(node, 1), "×", node.transposed, {}, col);
        if (node.inputs.size() > 2) add(trace_.input(node, 2), "+", false, {}, col);
        add(node, "=", false, row, col);
        return result;
      case Op::concat:
        for (std::size_t head = 0; head < trace_.sizes.heads; ++head)
          add(trace_.input(node, head), "|", false, row, {});
        add(node, "=", false, row, col);
        return result;
      case Op::softmax: add(trace_.input(node, 0), "", false, row, {}); break;
      default:
        add(trace_.input(node, 0), "", false, row, col);
        if (node.inputs.size() > 1) add(trace_.input(node, 1), "+", false, {}, col);
        break;
    }
    add(node, sign_of(node), false, row, col);
    return result;
  }

  // What stands between the input and the result of a step that is no product.
  std::string sign_of(const Node& node) const {
    switch (node.op) {
      case Op::scale:
        if (!trace_.problem.scale) return "÷ √" + std::to_string(trace_.sizes.m) + " =";
        return "× " + format(node.parameter, style_) + " =";
      case Op::bias: return node.inputs.size() > 1 ? "=" : "→";
      default: return "→";
    }
  }

  const Trace& trace_;
  const RenderOptions& options_;
  NumberStyle style_;
  std::vector<Block> blocks_;
};

}  // namespace

NumberStyle number_style(const RenderOptions& options) {
  NumberStyle style;
  style.digits = options.digits;
  style.full = options.detail == Detail::full;
  style.ascii = options.ascii;
  return style;
}

std::vector<Block> build_document(const Trace& trace, const RenderOptions& options) {
  return Builder(trace, options).build();
}

}  // namespace heed::explain
