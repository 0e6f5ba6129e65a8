// The trace of a problem: heed::reference computes, this lays the results out as nodes.
#include "heed/trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "base/checks.h"
#include "base/problem.h"
#include "heed/reference.h"
#include "trace/steps.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::string_view kTheQuery = "query";  // the only one, without a name

std::vector<std::string> numbers(std::size_t count) {
  std::vector<std::string> labels;
  for (std::size_t i = 1; i <= count; ++i) labels.push_back(std::to_string(i));
  return labels;
}

// Heads of one tensor, side by side in memory as the reference wants them.
std::vector<double> packed(const std::vector<const Matrix*>& heads) {
  std::vector<double> values;
  for (const Matrix* m : heads) values.insert(values.end(), m->values.begin(), m->values.end());
  return values;
}

Matrix head_of(const reference::Tensor<double>& t, std::size_t head) {
  Matrix m(t.rows, t.cols);
  for (std::size_t i = 0; i < t.rows; ++i)
    for (std::size_t j = 0; j < t.cols; ++j) m(i, j) = t.at(0, head, i, j);
  return m;
}

class Builder {
 public:
  explicit Builder(Problem problem) { trace_.problem = std::move(problem); }

  Trace build() {
    validate(p());
    for (std::size_t b = 0; b < p().sequences.size(); ++b) sequence(b);
    sizes();
    return std::move(trace_);
  }

 private:
  const Problem& p() const { return trace_.problem; }
  bool has_values() const { return p().values != Problem::Values::none; }
  std::string value_id() const { return p().values == Problem::Values::keys ? "K" : "V"; }

  void sequence(std::size_t b) {
    b_ = b;
    const Sequence& s = p().sequences[b];
    label_tokens(s);
    if (!s.x.empty()) {
      input("X", s.x, s.context.empty() ? Axis::token : Axis::query).every_head = true;
      if (!s.context.empty()) input("X_KV", s.context, Axis::key).every_head = true;
    }
    for (std::size_t h = 0; h < p().heads; ++h) project(s, h);
    const reference::Attention<double> steps = attend(s);
    for (std::size_t h = 0; h < p().heads; ++h) head_steps(s, steps, h);
    if (has_values()) finish();
  }

  void label_tokens(const Sequence& s) {
    const std::size_t n_q = s.x.empty() ? s.q.front().rows : s.x.rows;
    const std::size_t n_k = !s.k.empty()        ? s.k.front().rows
                            : s.context.empty() ? n_q
                                                : s.context.rows;
    const bool one_query = p().values == Problem::Values::keys && n_q == 1;
    queries_ = !s.tokens.empty() ? unique_labels(s.tokens)
               : one_query       ? std::vector<std::string>{std::string(kTheQuery)}
                                 : numbers(n_q);
    const bool own = !s.context_tokens.empty() || !s.context.empty() || n_k != n_q;
    keys_ = !own                       ? queries_
            : s.context_tokens.empty() ? numbers(n_k)
                                       : unique_labels(s.context_tokens);
  }

  const std::vector<std::string>& labels(Axis axis) const {
    return axis == Axis::key ? keys_ : queries_;
  }

  Node& add(std::string id, Op op, std::vector<std::string> inputs, Matrix values, Axis rows,
            Axis cols) {
    Node node;
    node.id = std::move(id);
    node.op = op;
    node.inputs = std::move(inputs);
    node.batch = b_;
    node.head = h_;
    node.row_axis = rows;
    node.col_axis = cols;
    node.row_labels = rows == Axis::feature ? numbers(values.rows) : labels(rows);
    node.col_labels = cols == Axis::feature ? numbers(values.cols) : labels(cols);
    node.values = std::move(values);
    trace_.nodes.push_back(std::move(node));
    return trace_.nodes.back();
  }

  Node& input(std::string id, Matrix values, Axis rows, Axis cols = Axis::feature) {
    return add(std::move(id), Op::input, {}, std::move(values), rows, cols);
  }

  // The weights of one head, written down where they are first needed.
  void weight(const std::string& id, const std::vector<Matrix>& of_heads, std::size_t head) {
    if (b_ > 0 || of_heads.empty()) return;
    h_ = head;
    input(id, of_heads[head], Axis::feature).every_batch = true;
  }

  void project(const Sequence& s, std::size_t h) {
    const std::size_t group = p().heads / p().kv_heads, g = h / group;
    const bool leads = h % group == 0;  // the first query head of its key/value head
    const bool projects_values = p().values == Problem::Values::projected;
    if (s.x.empty()) {
      h_ = h;
      input("Q", s.q[h], Axis::query);
      h_ = g;
      if (leads) input("K", s.k[g], Axis::key);
      if (leads && projects_values) input("V", s.v[g], Axis::key);
      return;
    }
    weight("W_Q", p().w_q, h);
    weight("b_Q", p().b_q, h);
    if (leads) {
      weight("W_K", p().w_k, g);
      weight("b_K", p().b_k, g);
      weight("W_V", p().w_v, g);
      weight("b_V", p().b_v, g);
    }
    h_ = h;
    projection("Q", "X", s.x, p().w_q[h], p().b_q, h, Axis::query);
    if (!leads) return;
    h_ = g;
    const std::string from = s.context.empty() ? "X" : "X_KV";
    const Matrix& source = s.context.empty() ? s.x : s.context;
    projection("K", from, source, p().w_k[g], p().b_k, g, Axis::key);
    if (projects_values) projection("V", from, source, p().w_v[g], p().b_v, g, Axis::key);
  }

  void projection(const std::string& id, const std::string& from, const Matrix& x, const Matrix& w,
                  const std::vector<Matrix>& biases, std::size_t head, Axis rows) {
    std::vector<std::string> inputs = {from, "W_" + id};
    if (!biases.empty()) inputs.push_back("b_" + id);
    add(id, Op::matmul, inputs, multiply(x, w, biases.empty() ? nullptr : &biases[head]), rows,
        Axis::feature);
  }

  std::vector<const Matrix*> heads_of(std::string_view id) const {
    std::vector<const Matrix*> heads;
    for (const Node& node : trace_.nodes)
      if (node.id == id && node.batch == b_ && node.op != Op::concat) heads.push_back(&node.values);
    return heads;
  }

  reference::Attention<double> attend(const Sequence& s) {
    const auto q = heads_of("Q"), k = heads_of("K");
    const auto v = p().values == Problem::Values::projected ? heads_of("V") : k;
    const auto q_values = packed(q), k_values = packed(k), v_values = packed(v);
    const auto view = [](const std::vector<double>& values, const std::vector<const Matrix*>& m) {
      return bhnd(values.data(), 1, m.size(), m[0]->rows, m[0]->cols);
    };
    AttentionOptions options;
    options.scale = p().scale;
    options.softcap = p().softcap;
    options.causal = p().causal;
    options.query_offset = p().query_offset;
    options.window_left = p().window_left;
    options.window_right = p().window_right;
    options.alibi_slopes = p().alibi_slopes;
    options.sinks = p().sinks;
    const std::unique_ptr<bool[]> mask(new bool[std::max<std::size_t>(s.mask.values.size(), 1)]);
    std::transform(s.mask.values.begin(), s.mask.values.end(), mask.get(),
                   [](double value) { return value != 0; });
    if (!s.mask.empty()) options.mask = scores(mask.get(), 1, 1, s.mask.rows, s.mask.cols);
    if (!s.bias.empty())
      options.bias = scores(s.bias.values.data(), 1, 1, s.bias.rows, s.bias.cols);
    const std::array<std::int64_t, 1> length = {
        static_cast<std::int64_t>(s.key_length.value_or(k[0]->rows))};
    options.key_lengths = length;
    const ConstTensorView q_view = view(q_values, q), k_view = view(k_values, k),
                          v_view = view(v_values, v);
    trace_.offsets.push_back(
        heed::describe(q_view, k_view, v_view, options).sequences.front().offset);
    return reference::attention<double>(q_view, k_view, v_view, options);
  }

  bool has_mask(const Sequence& s, const reference::Attention<double>& steps) const {
    return p().causal || p().window_left || p().window_right || !s.mask.empty() || s.key_length ||
           std::count(steps.visible.values.begin(), steps.visible.values.end(), 0) > 0;
  }

  void head_steps(const Sequence& s, const reference::Attention<double>& steps, std::size_t h) {
    h_ = h;
    std::string last = "S";
    const auto scores_node = [&](std::string id, Op op, std::vector<std::string> inputs,
                                 Matrix values) -> Node& {
      last = id;
      return add(std::move(id), op, std::move(inputs), std::move(values), Axis::query, Axis::key);
    };
    scores_node("S", Op::matmul, {"Q", "K"}, head_of(steps.raw, h)).transposed = true;
    if (!p().scale || *p().scale != 1)
      scores_node("Z", Op::scale, {last}, head_of(steps.scaled, h)).parameter = scale();
    if (p().softcap)
      scores_node("Z_cap", Op::softcap, {last}, head_of(steps.capped, h)).parameter = *p().softcap;
    if (!s.bias.empty() || !p().alibi_slopes.empty()) add_bias(s, steps, h, last);
    if (has_mask(s, steps)) {
      Matrix masked = head_of(steps.biased, h);
      for (std::size_t i = 0; i < masked.values.size(); ++i)
        if (!steps.visible.values[h * masked.values.size() + i]) masked.values[i] = -kInf;
      scores_node("M", Op::mask, {last}, std::move(masked));
    }
    scores_node("A", Op::softmax, {last}, head_of(steps.p, h));
    if (has_values())
      add("O", Op::matmul, {"A", value_id()}, head_of(steps.o, h), Axis::query, Axis::feature);
  }

  void add_bias(const Sequence& s, const reference::Attention<double>& steps, std::size_t h,
                std::string& last) {
    std::vector<std::string> inputs = {last};
    if (!s.bias.empty()) {
      inputs.push_back("B");
      if (h == 0) {
        Node& bias = input("B", s.bias, s.bias.rows == 1 ? Axis::feature : Axis::query, Axis::key);
        bias.every_head = true;
      }
    }
    Node& node = add("Z_bias", Op::bias, inputs, head_of(steps.biased, h), Axis::query, Axis::key);
    node.parameter = p().alibi_slopes.empty() ? 0 : p().alibi_slopes[h];
    last = "Z_bias";
  }

  double scale() const {
    if (p().scale) return *p().scale;
    return 1.0 / std::sqrt(static_cast<double>(heads_of("Q")[0]->cols));
  }

  // Concat and W_O.
  void finish() {
    h_ = 0;
    const auto heads = heads_of("O");
    std::string last = "O";
    if (heads.size() > 1) {
      add("C", Op::concat, {"O"}, concatenate(heads), Axis::query, Axis::feature).every_head = true;
      last = "C";
    }
    if (p().w_o.empty()) return;
    std::vector<std::string> inputs = {last, "W_O"};
    if (!p().b_o.empty()) inputs.push_back("b_O");
    if (b_ == 0) {
      shared_input("W_O", p().w_o);
      if (!p().b_o.empty()) shared_input("b_O", p().b_o);
    }
    const Matrix y =
        multiply(trace_.at(last, b_).values, p().w_o, p().b_o.empty() ? nullptr : &p().b_o);
    add("Y", Op::matmul, inputs, y, Axis::query, Axis::feature).every_head = true;
  }

  void shared_input(const std::string& id, const Matrix& values) {
    Node& node = input(id, values, Axis::feature);
    node.every_batch = node.every_head = true;
  }

  void sizes() {
    Sizes& z = trace_.sizes;
    z.batch = p().sequences.size();
    z.heads = p().heads;
    z.kv_heads = p().kv_heads;
    const auto cols_of = [&](std::string_view id) {
      const Node* node = trace_.find(id);
      return node ? node->values.cols : 0;
    };
    for (const Node& node : trace_.nodes) {
      if (node.id == "S") {
        z.n_q = std::max(z.n_q, node.values.rows);
        z.n_k = std::max(z.n_k, node.values.cols);
      }
      const std::size_t count = node.values.values.size();
      if (node.id == "W_Q" || node.id == "W_K" || node.id == "W_V") z.head_parameters += count;
      if (node.id == "W_O") z.output_parameters += count;
      if (node.id[0] == 'b') z.bias_parameters += count;
    }
    z.d = cols_of("X");
    z.d_context = trace_.find("X_KV") ? cols_of("X_KV") : z.d;
    z.m = cols_of("Q");
    z.l = cols_of("O");
    z.d_out = cols_of("W_O");
  }

  Trace trace_;
  std::size_t b_ = 0, h_ = 0;
  std::vector<std::string> queries_, keys_;
};

bool counts_kv_heads(std::string_view id) {
  return id == "K" || id == "V" || id == "W_K" || id == "W_V" || id == "b_K" || id == "b_V";
}

}  // namespace

std::string_view name_of(Op op) {
  switch (op) {
    case Op::input: return "input";
    case Op::matmul: return "matmul";
    case Op::scale: return "scale";
    case Op::softcap: return "softcap";
    case Op::bias: return "bias";
    case Op::mask: return "mask";
    case Op::softmax: return "softmax";
    case Op::concat: return "concat";
  }
  return "?";
}

const Node* Trace::find(std::string_view id, std::size_t batch, std::size_t head) const {
  if (counts_kv_heads(id)) head /= problem.heads / problem.kv_heads;
  for (const Node& node : nodes)
    if (node.id == id && (node.every_batch || node.batch == batch) &&
        (node.every_head || node.head == head))
      return &node;
  return nullptr;
}

const Node& Trace::at(std::string_view id, std::size_t batch, std::size_t head) const {
  if (const Node* node = find(id, batch, head)) return *node;
  if (batch >= problem.sequences.size())
    fail(id, ": there is no batch row ", batch + 1, "; there are ", problem.sequences.size());
  if (head >= problem.heads)
    fail(id, ": there is no head ", head + 1, "; there are ", problem.heads);
  std::string have;
  for (const Node& node : nodes)
    if (have.find(" " + node.id + ",") == std::string::npos) have += " " + node.id + ",";
  if (!have.empty()) have.pop_back();
  fail("there is no ", id, "; there are", have);
}

const Node& Trace::input(const Node& node, std::size_t which) const {
  if (node.op == Op::concat) return at("O", node.batch, which);
  // A query head of a node that counts kv heads: any of its group will do, its inputs are shared.
  const std::size_t head =
      counts_kv_heads(node.id) ? node.head * (problem.heads / problem.kv_heads) : node.head;
  return at(node.inputs.at(which), node.batch, head);
}

const Node& Trace::output(std::size_t batch, std::size_t head) const {
  for (const std::string_view id : {"Y", "C", "O"})
    if (const Node* node = find(id, batch, head)) return *node;
  return at("A", batch, head);
}

Trace trace(Problem problem) {
  return Builder(std::move(problem)).build();
}

}  // namespace heed::explain
