// The trace: attention as data. Every matrix on the way from X to Y, in double, in dependency
// order, with its labels; and, on demand, any single entry spelled out.
//
//   const Trace t = trace(read_problem("i-love-ai.json"));
//   const Node& s = t.at("S");
//   expand(t, s, 1, 2).value;                 // s_23
//
// Ids: X, X_KV (cross-attention), W_Q, W_K, W_V, b_Q, b_K, b_V, Q, K, V, S (scores), Z (scaled),
// Z_cap (soft-capped), B (bias), Z_bias (bias and ALiBi added), M (masked), A (weights), O, C
// (concatenated heads), W_O, b_O, Y: only those that the problem has.
//
// The numbers come from heed::reference in double: the same digits on every platform. Renderers,
// check and diff read the trace and compute nothing of their own. Indices are 0-based here and in
// JSON, 1-based in everything people read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/problem.h"

namespace heed::explain {

enum class Op : std::uint8_t {
  input,    // given
  matmul,   // inputs[0] * inputs[1] (transposed where `transposed`), + inputs[2] on every row
  scale,    // inputs[0] * parameter
  softcap,  // parameter * tanh(inputs[0] / parameter)
  bias,     // inputs[0] + inputs[1] - slope * |i + offset - j|, whichever of the two there is
  mask,     // inputs[0], or -infinity where the key is hidden
  softmax,  // of each row of inputs[0]
  concat,   // the O of every head side by side
};
std::string_view name_of(Op op);  // "input", "matmul", ...

// What an axis counts. Rows are queries ("from"), columns are keys ("to"); tokens are both.
enum class Axis : std::uint8_t { query, key, feature, token };

struct Node {
  std::string id;
  Op op = Op::input;
  std::vector<std::string> inputs;  // ids; Trace::input resolves them
  std::size_t batch = 0, head = 0;  // head counts kv heads for W_K, W_V, K, V
  bool every_batch = false;         // shared by all sequences (weights)
  bool every_head = false;          // shared by all heads (X, C, W_O, Y)
  bool transposed = false;          // matmul: the second factor is transposed
  double parameter = 0;             // scale: the factor; softcap: the cap; bias: the ALiBi slope
  Axis row_axis = Axis::query, col_axis = Axis::feature;
  std::vector<std::string> row_labels, col_labels;  // tokens as given, or "1", "2", ...
  Matrix values;
};

// Sizes in the letters of the notes: X n x d, W_Q and W_K d x m, W_V d x l, T heads.
struct Sizes {
  std::size_t batch = 0, heads = 0, kv_heads = 0;
  std::size_t n_q = 0, n_k = 0;       // of the longest sequence
  std::size_t d = 0, d_context = 0;   // 0: q, k, v are given
  std::size_t m = 0, l = 0;           // d_k and d_v; l = 0 without values
  std::size_t d_out = 0;              // columns of W_O, 0 without
  std::size_t head_parameters = 0;    // of all W_Q, W_K, W_V:  d (2m + l) T with kv_heads = T
  std::size_t output_parameters = 0;  // of W_O:  T l d_out
  std::size_t bias_parameters = 0;    // of all b_Q, b_K, b_V, b_O
  std::size_t parameters() const { return head_parameters + output_parameters + bias_parameters; }
};

struct Trace {
  Problem problem;
  Sizes sizes;
  std::vector<Node> nodes;            // in dependency order
  std::vector<std::int64_t> offsets;  // per sequence: query i stands at key i + offset

  // nullptr where the problem has no such node. `head` is a query head, whatever the node counts.
  const Node* find(std::string_view id, std::size_t batch = 0, std::size_t head = 0) const;
  // The same; throws heed::Error naming the ids there are.
  const Node& at(std::string_view id, std::size_t batch = 0, std::size_t head = 0) const;
  // The node that stands for node.inputs[which]; for concat, of head `which`.
  const Node& input(const Node& node, std::size_t which) const;
  // The last node of that batch: Y, C, O or A.
  const Node& output(std::size_t batch = 0, std::size_t head = 0) const;
};

Trace trace(Problem problem);

// What hides key j from query i, in words ("causal mask", "window", "padding mask", "given mask",
// "bias of −∞"); empty when nothing does.
std::string hidden_by(const Trace& trace, std::size_t batch, std::size_t i, std::size_t j);

// One entry, spelled out -------------------------------------------------------------------------

// A formula as data, so that each renderer writes it its own way (text, LaTeX, MathML). Numbers are
// full doubles: how many digits are shown, and so whether "=" or "≈", is the renderer's business.
struct Expression {
  enum class Kind : std::uint8_t {
    number,    // value
    symbol,    // name with 1-based indices: {"q", {2, 1}} is q_21; {"w^Q", ...} has a superscript
    sum,       // args joined by + (a negative number or `negative` arg by -)
    product,   // args joined by a dot
    quotient,  // args[0] / args[1]
    negative,  // -args[0]
    root,      // square root of args[0]
    power,     // args[0] to the args[1]; exp(x) is power{e, x}
    call,      // name(args...): tanh
    absolute,  // |args[0]|
    ellipsis,  // left out: `value` terms
    text,      // words: name
  };
  Kind kind = Kind::number;
  double value = 0;
  std::string name;
  std::vector<std::size_t> index;  // 1-based
  std::vector<Expression> args;
};

struct Term {
  double a = 0, b = 0, product = 0;
};

struct Use {
  std::string id;
  std::size_t batch = 0, head = 0;
  std::string where;  // "Z[2,3]", "row 2 of A", 1-based
};

struct Expansion {
  std::string id;
  std::size_t batch = 0, head = 0, row = 0, col = 0;
  std::string row_label, col_label;
  std::string reading;      // "query of love, key of AI"
  Expression symbol;        // s_23
  Expression symbols;       // q_21 k_31 + q_22 k_32
  Expression substitution;  // 1 * 1 + 1 * 1
  Expression products;      // 1 + 1
  Expression result;        // 2
  double value = 0;         // the same number; lines that do not apply are empty sums
  std::vector<Term> terms;  // matmul: all of them, in summation order; their sum is `value`
  std::string note;         // why there is nothing to compute: "hidden by the causal mask", "given"
  std::vector<Use> used_by;
};

struct ExpandOptions {
  std::size_t max_terms = 0;  // sums longer than this are shown as head, ellipsis, tail; 0: whole
};
Expansion expand(const Trace& trace, const Node& node, std::size_t i, std::size_t j,
                 const ExpandOptions& options = {});

// An entry as people name it: "S[2,3]", "S[love,AI]", "Q[2,1] head 2", 1-based or by token.
struct EntryName {
  std::string id;
  std::size_t batch = 0, head = 0, row = 0, col = 0;  // 0-based
};
EntryName parse_entry(const Trace& trace, std::string_view text, std::size_t batch = 0,
                      std::size_t head = 0);

// Softmax of one row -------------------------------------------------------------------------

struct SoftmaxRow {
  std::vector<double> z;        // the scores as they enter; -infinity where hidden
  std::vector<bool> visible;    //
  bool fully_masked = false;    // no visible key: weights are 0, not NaN
  double max = 0;               // over visible keys (and the sink)
  std::vector<double> shifted;  // z - max
  std::vector<double> exps;     // exp(z - max), 0 where hidden
  std::optional<double> sink;   // its score; adds exp(sink - max) to the sum
  double sum = 0;
  std::vector<double> weights;  // exps / sum
  double lse = 0;               // max + log(sum)
  // The formula as written, without subtracting the maximum.
  std::vector<double> naive_exps;  // exp(z)
  double naive_sum = 0;
  std::vector<double> naive_weights;  // naive_exps / naive_sum: NaN once either is infinite
  bool naive_fails = false;           // overflow, or every exp(z) underflows to 0
};
SoftmaxRow softmax_row(const Trace& trace, std::size_t batch, std::size_t head, std::size_t row);

// A product seen four ways ----------------------------------------------------------------------

//   entry   c_ij = sum_k a_ik b_kj
//   row     row i of C = sum_k a_ik (row k of B)
//   column  column j of C = sum_k b_kj (column k of A)
//   outer   C = sum_k (column k of A) (row k of B)
enum class View : std::uint8_t { entry, row, column, outer };
std::string_view name_of(View view);

struct Part {
  double coefficient = 1;  // row, column: a_ik or b_kj
  Expression symbol;       // of the coefficient; for outer: none
  std::string name;        // "row love of V", "column 2 of Q", "column 1 of A times row 1 of V"
  Matrix vector;           // what is multiplied [1, n], [n, 1]; outer: the rank-one matrix [n, p]
  Matrix product;          // coefficient * vector
};
struct Combination {
  View view = View::row;
  std::size_t index = 0;    // 0-based row or column; unused for outer
  std::string name;         // "row I of O"
  std::vector<Part> parts;  // in summation order
  Matrix value;             // their sum: the row, the column, or all of C
};
// Of a matmul node; throws heed::Error for any other and for View::entry.
Combination combine(const Trace& trace, const Node& node, View view, std::size_t index = 0);

// The computational graph -------------------------------------------------------------------------

struct GraphNode {
  std::string id;     // of the trace node it stands for
  std::string label;  // "MatMul", "Scale", "Mask (causal)", "SoftMax", "Concat", "Linear", "Q"
  std::vector<std::string> inputs;  // ids of graph nodes
  bool given = false;               // a source: drawn without a box
};
std::vector<GraphNode> graph(const Trace& trace);

// Steps, in words -----------------------------------------------------------------------------

// What a step is called, its formula, and why it is done: the same words in every renderer.
struct StepText {
  std::string key;  // as in --step: q, k, v, scores, scale, softcap, bias, mask, softmax, out, ...
  std::string title;    // "Scores"
  std::string formula;  // "S = Q·Kᵀ"
  std::string latex;    // "S = QK^{\\mathsf T}"
  std::string shapes;   // "3×2 · 2×3 → 3×3"
  std::string why;      // one line
};
StepText describe(const Trace& trace, const Node& node);

// JSON ----------------------------------------------------------------------------------------

// {"heed": version, "problem": {...}, "nodes": [{"id", "op", "inputs", "batch", "head", "shape",
//  "row_labels", "col_labels", "values"}]}, doubles in their shortest round-trip form, infinities
// and NaN as the strings "inf", "-inf" and "nan". Indices are 0-based.
std::string to_json(const Trace& trace);
// The working of one entry, of one softmax row, of one view: for the page.
std::string to_json(const Expansion& expansion, int digits = 4);
std::string to_json(const SoftmaxRow& row);
std::string to_json(const Combination& combination);
std::string to_json(const std::vector<GraphNode>& graph);

}  // namespace heed::explain
