// The trace and its parts as JSON: the contract of the page and of other tools.
#include "heed/trace.h"
#include "heed/version.h"
#include "trace/expression.h"
#include "trace/json_writer.h"

namespace heed::explain {
namespace {

std::string json_size(std::size_t n) {
  return std::to_string(n);
}

std::string json_bool(bool value) {
  return value ? "true" : "false";
}

std::string json_bools(const std::vector<bool>& values) {
  return json_array(values, json_bool);
}

// One matrix, or the list of one per head.
void add_heads(JsonObject& json, std::string_view key, const std::vector<Matrix>& heads) {
  if (heads.size() == 1)
    json.add(key, json_matrix(heads[0]));
  else if (!heads.empty())
    json.add(key, json_array(heads, json_matrix));
}

// One row of numbers, or the list of one per head.
void add_biases(JsonObject& json, std::string_view key, const std::vector<Matrix>& heads) {
  const auto row = [](const Matrix& m) { return json_numbers(m.values); };
  if (heads.size() == 1)
    json.add(key, row(heads[0]));
  else if (!heads.empty())
    json.add(key, json_array(heads, row));
}

void add_matrix(JsonObject& json, std::string_view key, const Matrix& matrix) {
  if (!matrix.empty()) json.add(key, json_matrix(matrix));
}

// As true and false: a mask of nothing but 0 could also be one of 0 and −∞, which hides nothing.
void add_mask(JsonObject& json, const Matrix& mask) {
  if (mask.empty()) return;
  std::vector<std::vector<bool>> rows(mask.rows, std::vector<bool>(mask.cols));
  for (std::size_t i = 0; i < mask.rows; ++i)
    for (std::size_t j = 0; j < mask.cols; ++j) rows[i][j] = mask(i, j) != 0;
  json.add("mask", json_array(rows, json_bools));
}

void add_sequence(JsonObject& json, const Sequence& s) {
  if (!s.tokens.empty()) json.add("tokens", json_strings(s.tokens));
  if (!s.context_tokens.empty()) json.add("context_tokens", json_strings(s.context_tokens));
  add_matrix(json, "x", s.x);
  add_matrix(json, "context", s.context);
  add_heads(json, "q", s.q);
  add_heads(json, "k", s.k);
  add_heads(json, "v", s.v);
  add_mask(json, s.mask);
  add_matrix(json, "bias", s.bias);
  if (s.key_length) json.add("key_length", json_size(*s.key_length));
}

void add_origin(JsonObject& json, std::string_view key, const Origin& origin) {
  if (origin.kind == Origin::Kind::typed) return;
  JsonObject o;
  const bool generated = origin.kind == Origin::Kind::generated;
  o.add("kind", json_string(generated ? "generated" : "imported"));
  if (generated) o.add("seed", std::to_string(origin.seed));
  json.add(key, o.text());
}

void add_weights(JsonObject& json, const Problem& p) {
  add_heads(json, "w_q", p.w_q);
  add_heads(json, "w_k", p.w_k);
  add_heads(json, "w_v", p.w_v);
  add_biases(json, "b_q", p.b_q);
  add_biases(json, "b_k", p.b_k);
  add_biases(json, "b_v", p.b_v);
  add_matrix(json, "w_o", p.w_o);
  if (!p.b_o.empty()) add_biases(json, "b_o", {p.b_o});
}

void add_options(JsonObject& json, const Problem& p) {
  const auto add_optional = [&](std::string_view key, const auto& value) {
    if (value) json.add(key, json_number(static_cast<double>(*value)));
  };
  const auto add_floats = [&](std::string_view key, const std::vector<float>& values) {
    if (!values.empty()) json.add(key, json_numbers({values.begin(), values.end()}));
  };
  if (p.heads != 1) json.add("heads", json_size(p.heads));
  if (p.kv_heads != p.heads) json.add("kv_heads", json_size(p.kv_heads));
  if (p.values == Problem::Values::keys) json.add("values", json_string("keys"));
  if (p.values == Problem::Values::none) json.add("values", json_string("none"));
  add_optional("scale", p.scale);
  add_optional("softcap", p.softcap);
  if (p.causal)
    json.add("causal", json_string(*p.causal == Causal::upper_left ? "upper_left" : "lower_right"));
  add_optional("query_offset", p.query_offset);
  add_optional("window_left", p.window_left);
  add_optional("window_right", p.window_right);
  add_floats("alibi_slopes", p.alibi_slopes);
  add_floats("sinks", p.sinks);
}

std::string json_step(const StepText& step) {
  return JsonObject()
      .add("key", json_string(step.key))
      .add("title", json_string(step.title))
      .add("formula", json_string(step.formula))
      .add("latex", json_string(step.latex))
      .add("shapes", json_string(step.shapes))
      .add("why", json_string(step.why))
      .text();
}

std::string json_node(const Trace& trace, const Node& node) {
  constexpr std::size_t kIndent = 5;
  JsonObject json;
  json.add("id", json_string(node.id))
      .add("op", json_string(name_of(node.op)))
      .add("inputs", json_strings(node.inputs))
      .add("batch", json_size(node.batch))
      .add("head", json_size(node.head))
      .add("shape", json_array(std::vector{node.values.rows, node.values.cols}, json_size))
      .add_line("row_labels", json_strings(node.row_labels), kIndent)
      .add("col_labels", json_strings(node.col_labels))
      .add_line("every_batch", json_bool(node.every_batch), kIndent)
      .add("every_head", json_bool(node.every_head));
  if (node.transposed) json.add("transposed", json_bool(true));
  if (node.parameter != 0) json.add("parameter", json_number(node.parameter));
  json.add_line("step", json_step(describe(trace, node)), kIndent)
      .add_line("values", json_matrix(node.values), kIndent);
  return "    " + json.text();
}

std::string json_sizes(const Sizes& s) {
  return JsonObject()
      .add("batch", json_size(s.batch))
      .add("heads", json_size(s.heads))
      .add("kv_heads", json_size(s.kv_heads))
      .add("n_q", json_size(s.n_q))
      .add("n_k", json_size(s.n_k))
      .add("d", json_size(s.d))
      .add("d_context", json_size(s.d_context))
      .add("d_k", json_size(s.m))
      .add("d_v", json_size(s.l))
      .add("d_out", json_size(s.d_out))
      .add("head_parameters", json_size(s.head_parameters))
      .add("output_parameters", json_size(s.output_parameters))
      .add("bias_parameters", json_size(s.bias_parameters))
      .add("parameters", json_size(s.parameters()))
      .text();
}

std::string json_problem(const Problem& problem) {
  JsonObject json;
  if (!problem.title.empty()) json.add("title", json_string(problem.title));
  if (problem.sequences.size() == 1)
    add_sequence(json, problem.sequences.front());
  else
    json.add("batch", json_array(problem.sequences, [](const Sequence& s) {
               JsonObject one;
               add_sequence(one, s);
               return one.text();
             }));
  add_weights(json, problem);
  add_options(json, problem);
  add_origin(json, "inputs_origin", problem.inputs);
  add_origin(json, "weights_origin", problem.weights);
  return json.text();
}

}  // namespace

std::string to_json(const Problem& problem) {
  return json_problem(problem) + "\n";
}

std::string to_json(const Trace& trace) {
  std::string nodes = "[";
  for (const Node& node : trace.nodes) {
    nodes += nodes.size() > 1 ? ",\n" : "\n";
    nodes += json_node(trace, node);
  }
  std::string graph_json = to_json(graph(trace));
  graph_json.pop_back();
  return JsonObject()
             .add_line("heed", json_string(HEED_VERSION), 2)
             .add_line("problem", json_problem(trace.problem), 2)
             .add_line("sizes", json_sizes(trace.sizes), 2)
             .add_line("graph", graph_json, 2)
             .add_line("nodes", nodes + "\n  ]\n", 2)
             .text() +
         "\n";
}

std::string to_json(const Expansion& e, int digits) {
  const NumberStyle style = {.digits = digits};
  const auto line = [&](bool exact, const Expression& right) {
    return JsonObject()
        .add("relation", json_string(exact ? "=" : "≈"))
        .add("text", json_string(to_text(right, style)))
        .add("latex", json_string(to_latex(right, style)))
        .text();
  };
  JsonObject json;
  json.add("id", json_string(e.id))
      .add("batch", json_size(e.batch))
      .add("head", json_size(e.head))
      .add("row", json_size(e.row))
      .add("col", json_size(e.col))
      .add("row_label", json_string(e.row_label))
      .add("col_label", json_string(e.col_label))
      .add("reading", json_string(e.reading))
      .add("symbol", JsonObject()
                         .add("text", json_string(to_text(e.symbol, style)))
                         .add("latex", json_string(to_latex(e.symbol, style)))
                         .text())
      .add("lines", json_array(worked_lines(e, style),
                               [&](const WorkedLine& l) { return line(l.exact, *l.right); }))
      .add("terms", json_array(e.terms,
                               [](const Term& t) {
                                 return json_numbers({t.a, t.b, t.product});
                               }))
      .add("value", json_number(e.value))
      .add("note", json_string(e.note))
      .add("used_by", json_array(e.used_by, [](const Use& use) {
             return JsonObject()
                 .add("id", json_string(use.id))
                 .add("batch", json_size(use.batch))
                 .add("head", json_size(use.head))
                 .add("where", json_string(use.where))
                 .text();
           }));
  return json.text() + "\n";
}

std::string to_json(const SoftmaxRow& row) {
  JsonObject json;
  json.add("z", json_numbers(row.z))
      .add("visible", json_bools(row.visible))
      .add("fully_masked", json_bool(row.fully_masked))
      .add("max", json_number(row.max))
      .add("shifted", json_numbers(row.shifted))
      .add("exps", json_numbers(row.exps));
  if (row.sink) json.add("sink", json_number(*row.sink));
  json.add("sum", json_number(row.sum))
      .add("weights", json_numbers(row.weights))
      .add("lse", json_number(row.lse))
      .add("naive_exps", json_numbers(row.naive_exps))
      .add("naive_sum", json_number(row.naive_sum))
      .add("naive_weights", json_numbers(row.naive_weights))
      .add("naive_fails", json_bool(row.naive_fails));
  return json.text() + "\n";
}

std::string to_json(const Combination& c) {
  return JsonObject()
             .add("view", json_string(name_of(c.view)))
             .add("index", json_size(c.index))
             .add("name", json_string(c.name))
             .add("parts", json_array(c.parts,
                                      [](const Part& part) {
                                        return JsonObject()
                                            .add("coefficient", json_number(part.coefficient))
                                            .add("symbol", json_string(to_text(part.symbol, {})))
                                            .add("name", json_string(part.name))
                                            .add("vector", json_matrix(part.vector))
                                            .add("product", json_matrix(part.product))
                                            .text();
                                      }))
             .add("value", json_matrix(c.value))
             .text() +
         "\n";
}

std::string to_json(const std::vector<GraphNode>& graph) {
  return json_array(graph,
                    [](const GraphNode& node) {
                      return JsonObject()
                          .add("id", json_string(node.id))
                          .add("label", json_string(node.label))
                          .add("inputs", json_strings(node.inputs))
                          .add("given", json_bool(node.given))
                          .text();
                    }) +
         "\n";
}

}  // namespace heed::explain
