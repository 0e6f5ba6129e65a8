// The computational graph as it is drawn: Q and K into a MatMul, Scale, Mask, SoftMax, MatMul with
// V.
#include "heed/trace.h"
#include "trace/masks.h"

namespace heed::explain {
namespace {

std::string label_of(const Trace& trace, const Node& node) {
  switch (node.op) {
    case Op::input: return node.id;
    case Op::matmul: return node.inputs[1].starts_with("W_") ? "Linear" : "MatMul";
    case Op::scale: return "Scale";
    case Op::softcap: return "Soft cap";
    case Op::bias: return node.parameter != 0 && node.inputs.size() < 2 ? "ALiBi" : "Bias";
    case Op::mask: return "Mask (" + join_masks(mask_names(trace, node.batch)) + ")";
    case Op::softmax: return "SoftMax";
    case Op::concat: return "Concat";
  }
  return "";
}

}  // namespace

std::vector<GraphNode> graph(const Trace& trace) {
  std::vector<GraphNode> nodes;
  for (const Node& node : trace.nodes) {
    if (node.batch != 0 || node.head != 0) continue;  // every sequence and head has the same one
    nodes.push_back({.id = node.id,
                     .label = label_of(trace, node),
                     .inputs = node.inputs,
                     .given = node.op == Op::input});
  }
  return nodes;
}

}  // namespace heed::explain
