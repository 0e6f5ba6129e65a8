#include "engine/workings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/matrices.h"

namespace heed::web {
namespace {

using explain::Matrix;
using explain::Node;

constexpr std::size_t kMostTerms = 12;  // of a sum that is spelled out on the page
constexpr std::size_t kMostParts = 16;  // of a product seen by row, column or outer products

// Numbers in one format; `hidden` in the place of those that no query sees.
Json texts(const std::vector<double>& values, const explain::NumberStyle& style,
           const std::vector<bool>& visible = {}, const char* hidden = "") {
  Array array;
  const auto format = choose_format(values, style);
  for (std::size_t j = 0; j < values.size(); ++j)
    array.push(visible.empty() || visible[j] ? Json(explain::format(values[j], format))
                                             : Json(hidden));
  return array;
}

void require_entry(const Node& node, std::size_t row, std::size_t col) {
  if (row >= node.values.rows || col >= node.values.cols)
    throw Error(node.id + ": there is no entry (" + std::to_string(row + 1) + ", " +
                std::to_string(col + 1) + ") in " + std::to_string(node.values.rows) + "×" +
                std::to_string(node.values.cols));
}

}  // namespace

Json expansion_json(const Solved& solved, const Node& node, std::size_t row, std::size_t col) {
  require_entry(node, row, col);
  const explain::Expansion e = expand(solved.trace, node, row, col, {.max_terms = kMostTerms});
  Array terms;
  const std::size_t shown = std::min(e.terms.size(), kMostTerms);
  for (std::size_t k = 0; k < shown; ++k)
    terms.push(Object()
                   .add("a", explain::format(e.terms[k].a, solved.style))
                   .add("b", explain::format(e.terms[k].b, solved.style))
                   .add("product", explain::format(e.terms[k].product, solved.style)));
  return Object()
      .add("expansion", Json::raw(to_json(e, solved.style.digits)))
      .add("name", e.id + "[" + e.row_label + ", " + e.col_label + "]")
      .add("value", explain::format(e.value, solved.style))
      .add("exactValue", explain::format(e.value, explain::NumberStyle{.full = true}))
      .add("terms", terms)
      .add("termsLeftOut", e.terms.size() - shown);
}

Json softmax_json(const Solved& solved, std::size_t batch, std::size_t head, std::size_t row) {
  const Node& node = solved.trace.at("A", batch, head);
  require_entry(node, row, 0);
  const explain::SoftmaxRow r = softmax_row(solved.trace, batch, head, row);
  const auto& style = solved.style;
  const auto line = [&](const char* name, const std::vector<double>& values, const char* hidden,
                        const std::string& sum) -> Json {
    return Object()
        .add("name", name)
        .add("text", texts(values, style, r.visible, hidden))
        .add("sum", sum);
  };
  double total = 0;
  for (const double weight : r.weights) total += weight;
  Array hidden, shades;
  for (std::size_t j = 0; j < r.visible.size(); ++j) {
    hidden.push(!r.visible[j]);
    shades.push(r.visible[j] ? Json(r.weights[j]) : Json());
  }
  return Object()
      .add("labels", node.col_labels)
      .add("rowLabel", node.row_labels[row])
      .add("hidden", hidden)
      .add("fullyMasked", r.fully_masked)
      .add("rows", Array()
                       .push(line("z", r.z, "−∞", ""))
                       .push(line("shifted", r.shifted, "−∞", ""))
                       .push(line("exps", r.exps, "0", explain::format(r.sum, style)))
                       .push(line("weights", r.weights, "·", explain::format(total, style))))
      .add("max", explain::format(r.max, style))
      .add("lse", explain::format(r.lse, style))
      .add("sink", r.sink ? explain::format(*r.sink, style) : "")
      .add("naive", Object()
                        .add("exps", texts(r.naive_exps, style))
                        .add("sum", explain::format(r.naive_sum, style))
                        .add("weights", texts(r.naive_weights, style))
                        .add("fails", r.naive_fails))
      .add("shade", shades);
}

Json combination_json(const Solved& solved, const Node& node, explain::View view,
                      std::size_t index) {
  require_entry(node, view == explain::View::row ? index : 0,
                view == explain::View::column ? index : 0);
  const explain::Combination c = combine(solved.trace, node, view, index);
  const std::vector<std::string> none = {""};
  const bool row = view == explain::View::row, column = view == explain::View::column;
  double bound = bound_of(c.value);
  const std::size_t shown = std::min(c.parts.size(), kMostParts);
  for (std::size_t k = 0; k < shown; ++k)
    bound = std::max({bound, bound_of(c.parts[k].product), bound_of(c.parts[k].vector)});
  const auto strip = [&](const Matrix& values) -> Json {
    if (values.values.size() > kMostSent)
      throw Error(node.id + ": " + std::string(name_of(view)) + " view is for matrices of up to " +
                  std::to_string(kMostSent) + " entries, this one has " +
                  std::to_string(values.values.size()));
    return Object()
        .add("rowLabels", row ? none : node.row_labels)
        .add("colLabels", column ? none : node.col_labels)
        .add("cells", cells_json(values, {.style = solved.style, .bound = bound}));
  };
  Array parts;
  for (std::size_t k = 0; k < shown; ++k) {
    const explain::Part& part = c.parts[k];
    parts.push(Object()
                   .add("coefficient", explain::format(part.coefficient, solved.style))
                   .add("name", part.name)
                   .add("vector", strip(part.vector))
                   .add("product", strip(part.product)));
  }
  return Object()
      .add("view", name_of(view))
      .add("name", c.name)
      .add("parts", parts)
      .add("leftOut", c.parts.size() - shown)
      .add("value", strip(c.value));
}

}  // namespace heed::web
