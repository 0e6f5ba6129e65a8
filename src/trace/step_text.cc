// The words of each step: title, formula, shapes and why. Written once, shown by every renderer.
#include <algorithm>

#include "heed/trace.h"
#include "trace/format.h"
#include "trace/masks.h"

namespace heed::explain {
namespace {

struct Words {
  std::string_view key, title, why;
};

Words words_of(const std::string& id) {
  if (id == "X") return {"x", "Embeddings", "Each row is one token as a vector."};
  if (id == "X_KV")
    return {"x", "Context embeddings", "Keys and values are made from these tokens."};
  if (id == "Q") return {"q", "Queries", "A query says what a token is looking for."};
  if (id == "K") return {"k", "Keys", "A key says what a token can be found by."};
  if (id == "V") return {"v", "Values", "A value is what a token hands over when attended to."};
  if (id == "S")
    return {"scores", "Scores", "How well query i fits key j: the dot product of the two rows."};
  if (id == "Z")
    return {"scale", "Scaled scores",
            "Dot products grow with the number of terms; scaling keeps the softmax soft."};
  if (id == "Z_cap")
    return {"softcap", "Soft-capped scores", "tanh bends the scores so that none passes the cap."};
  if (id == "Z_bias")
    return {"bias", "Biased scores", "What is known beforehand about query i and key j is added."};
  if (id == "M")
    return {"mask", "Masked scores",
            "A hidden key scores −∞, so that its weight becomes exactly 0."};
  if (id == "A")
    return {"softmax", "Attention weights",
            "Each row becomes shares between 0 and 1 that add up to 1."};
  if (id == "O")
    return {"out", "Output", "Each row is the mean of the value rows, weighted by the row of A."};
  if (id == "C") return {"concat", "Concatenated heads", "The heads' outputs stand side by side."};
  if (id == "Y")
    return {"wo", "Output projection", "W_O mixes the heads and brings them back to model size."};
  if (id == "B") return {"bias", "Bias", "Added to the scores as it is."};
  if (id[0] == 'W') return {"w", "Weights", "Learned in training; given here."};
  return {"w", "Bias of the projection", "Added to every row."};
}

// "W_Q" as LaTeX.
std::string latex_id(const std::string& id) {
  const std::size_t underscore = id.find('_');
  if (underscore == std::string::npos) return id;
  const std::string subscript = id.substr(underscore + 1);
  return id.substr(0, underscore) + "_{" +
         (subscript.size() > 1 ? "\\mathrm{" + subscript + "}" : subscript) + "}";
}

struct Formula {
  std::string text, latex;
};

Formula scale_formula(const Trace& trace, const Node& node) {
  const std::string in = node.inputs[0], in_latex = latex_id(in);
  if (!trace.problem.scale) {
    const std::string m = std::to_string(trace.sizes.m);
    return {node.id + " = " + in + " / √d_k = " + in + " / √" + m,
            node.id + " = \\frac{" + in_latex + "}{\\sqrt{d_k}} = \\frac{" + in_latex +
                "}{\\sqrt{" + m + "}}"};
  }
  const std::string factor = shortest(node.parameter);
  return {node.id + " = " + in + " · " + factor, node.id + " = " + factor + " \\cdot " + in_latex};
}

Formula bias_formula(const Trace& trace, const Node& node) {
  Formula f = {node.id + " = " + node.inputs[0],
               latex_id(node.id) + " = " + latex_id(node.inputs[0])};
  if (node.inputs.size() > 1) {
    f.text += " + B";
    f.latex += " + B";
  }
  if (node.parameter != 0) {
    const std::string slope = shortest(node.parameter);
    const std::int64_t offset = trace.offsets[node.batch];
    const std::string shift = offset == 0 ? "" : " + " + std::to_string(offset);
    f.text += " − " + slope + "·|i" + shift + " − j|";
    f.latex += " - " + slope + "\\,|i" + shift + " - j|";
  }
  return f;
}

Formula concat_formula(const Trace& trace) {
  const std::size_t heads = trace.sizes.heads;
  Formula f = {"C = [", "C = \\begin{bmatrix}"};
  for (std::size_t h = 1; h <= heads; ++h) {
    if (heads > 4 && h == 3) {  // O1 O2 … OT
      f.text += " …";
      f.latex += " & \\cdots";
      h = heads;
    }
    f.text += (h > 1 ? " O" : "O") + std::to_string(h);
    f.latex += (h > 1 ? " & O_{" : "O_{") + std::to_string(h) + "}";
  }
  return {f.text + "]", f.latex + "\\end{bmatrix}"};
}

Formula formula_of(const Trace& trace, const Node& node) {
  const std::string id = latex_id(node.id);
  switch (node.op) {
    case Op::input: return {node.id, id};
    case Op::matmul: {
      const std::string bias = node.inputs.size() > 2 ? node.inputs[2] : "";
      return {node.id + " = " + node.inputs[0] + "·" + node.inputs[1] +
                  (node.transposed ? "ᵀ" : "") + (bias.empty() ? "" : " + " + bias),
              id + " = " + latex_id(node.inputs[0]) + "\\," + latex_id(node.inputs[1]) +
                  (node.transposed ? "^{\\mathsf T}" : "") +
                  (bias.empty() ? "" : " + " + latex_id(bias))};
    }
    case Op::scale: return scale_formula(trace, node);
    case Op::softcap: {
      const std::string cap = shortest(node.parameter);
      return {node.id + " = " + cap + "·tanh(" + node.inputs[0] + " / " + cap + ")",
              id + " = " + cap + "\\tanh(" + latex_id(node.inputs[0]) + " / " + cap + ")"};
    }
    case Op::bias: return bias_formula(trace, node);
    case Op::mask:
      return {"M = " + node.inputs[0] + " where visible, −∞ where hidden",
              "m_{ij} = " + std::string("\\begin{cases} ") + latex_id(node.inputs[0]) +
                  "{}_{ij} & \\text{visible} \\\\ -\\infty & \\text{hidden} \\end{cases}"};
    case Op::softmax:
      return {"A = softmax(" + node.inputs[0] + "), row by row",
              "A = \\mathrm{softmax}(" + latex_id(node.inputs[0]) + ")"};
    case Op::concat: return concat_formula(trace);
  }
  return {};
}

std::string shapes_of(const Trace& trace, const Node& node) {
  std::string own = shape_text(node.values.rows, node.values.cols);
  if (node.op == Op::matmul) {
    const Matrix &a = trace.input(node, 0).values, &b = trace.input(node, 1).values;
    return shape_text(a.rows, a.cols) + " · " +
           (node.transposed ? shape_text(b.cols, b.rows) : shape_text(b.rows, b.cols)) + " → " +
           own;
  }
  if (node.op == Op::concat) {
    const Matrix& o = trace.input(node, 0).values;
    return std::to_string(trace.sizes.heads) + " of " + shape_text(o.rows, o.cols) + " → " + own;
  }
  return own;
}

}  // namespace

StepText describe(const Trace& trace, const Node& node) {
  const Words words = words_of(node.id);
  const Formula formula = formula_of(trace, node);
  StepText text = {.key = std::string(words.key),
                   .title = std::string(words.title),
                   .formula = formula.text,
                   .latex = formula.latex,
                   .shapes = shapes_of(trace, node),
                   .why = std::string(words.why)};
  if (node.op == Op::mask) text.title += " (" + join_masks(mask_names(trace, node.batch)) + ")";
  if (node.id == "O" && node.inputs[1] == "K")
    text.why =
        "Each row is the mean of the keys, which serve as values too, weighted by the row of A.";
  return text;
}

}  // namespace heed::explain
