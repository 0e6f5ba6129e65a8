// A trace as one HTML file: styles inside, no script, no request.
#include <string>

#include "heed/render.h"
#include "trace/color.h"
#include "trace/document.h"
#include "trace/expression.h"
#include "trace/xml.h"

namespace heed::explain {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1b1f24; background: #fff;
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: .8rem; border-top: 2px solid #cdd5dd; }
h3 { font-size: 1.1rem; margin: 2rem 0 .2rem; }
h3 .formula { font-weight: 400; margin-left: .6rem; }
.formula, table, .working { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace;
                            font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { color: #57606a; } dd { margin: 0; }
.why { color: #444c56; margin: .2rem 0 .6rem; }
.equation { display: flex; flex-wrap: wrap; align-items: center; gap: .8rem 1rem; margin: .6rem 0; }
.sign { font-size: 1.2rem; color: #444c56; white-space: nowrap; }
figure { margin: 0; overflow-x: auto; max-width: 100%; }
figcaption { font-size: .85rem; text-align: center; color: #444c56; }
figcaption b { font-size: 1rem; }
table { border-collapse: collapse; font-size: .9rem; }
th { font-weight: 400; color: #57606a; padding: .15rem .5rem; }
th[scope=row] { text-align: right; }
td { text-align: right; padding: .2rem .6rem; border: 1px solid #d5dce3; color: #111;
     white-space: nowrap; }
td.masked { background: repeating-linear-gradient(45deg, #fff 0 4px, #dde 4px 6px); }
td.gone { border-style: dotted; color: #667; }
td.marked { outline: 3px solid #111; outline-offset: -3px; }
.working { margin: .4rem 0 .8rem; padding: .5rem .8rem; background: #f4f6f8; border-left: 3px solid
           #8aa; overflow-x: auto; white-space: nowrap; }
.working small { font-family: system-ui, sans-serif; color: #57606a; white-space: normal; }
svg text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: #1b1f24; }
@media print { body { margin: 0; max-width: none; } .equation, .working { break-inside: avoid; } }
</style>
)";

class Writer {
 public:
  void operator()(const Heading& heading) {
    const std::string tag = "h" + std::to_string(heading.level);
    out_ += "<" + tag + ">" + xml_escaped(heading.text) + "</" + tag + ">\n";
  }
  void operator()(const Paragraph& paragraph) {
    out_ += "<p>" + xml_escaped(paragraph.text) + "</p>\n";
  }

  void operator()(const Facts& facts) {
    out_ += "<dl>\n";
    for (const auto& [name, value] : facts.items)
      out_ += "<dt>" + xml_escaped(name) + "</dt><dd>" + xml_escaped(value) + "</dd>\n";
    out_ += "</dl>\n";
  }

  void operator()(const Graph& graph) {
    const GraphDrawing drawing = draw_graph(graph.nodes);
    out_ += "<svg role=\"img\" aria-label=\"Computational graph\" width=\"" +
            coordinate(drawing.width + 4) + "\" height=\"" + coordinate(drawing.height + 4) +
            "\" viewBox=\"-2 -2 " + coordinate(drawing.width + 4) + " " +
            coordinate(drawing.height + 4) + "\">\n" + drawing.elements + "</svg>\n";
  }

  void operator()(const StepHead& head) {
    out_ += "<h3>" + xml_escaped(head.text.title) +
            (head.of.empty() ? "" : " (" + xml_escaped(head.of) + ")");
    if (!head.text.formula.empty())
      out_ += "<span class=\"formula\">" + xml_escaped(head.text.formula) + "</span>";
    out_ += "</h3>\n<p class=\"why\">";
    if (!head.text.shapes.empty()) out_ += xml_escaped(head.text.shapes) + ". ";
    out_ += xml_escaped(head.text.why) + "</p>\n";
  }

  void operator()(const Equation& equation) {
    out_ += "<div class=\"equation\">\n";
    for (std::size_t g = 0; g < equation.grids.size(); ++g) {
      if (g > 0 && !equation.operators[g - 1].empty())
        out_ += "<span class=\"sign\">" + xml_escaped(equation.operators[g - 1]) + "</span>\n";
      grid(equation.grids[g]);
    }
    out_ += "</div>\n";
  }

  void operator()(const Working& working) {
    const Expansion& e = working.expansion;
    out_ += "<p class=\"working\">" + xml_escaped(to_text(e.symbol, working.style));
    for (const WorkedLine& line : worked_lines(e, working.style))
      out_ += (line.exact ? " = " : " ≈ ") + xml_escaped(to_text(*line.right, working.style));
    for (const std::string& words : {e.reading, e.note})
      if (!words.empty()) out_ += " <small>" + xml_escaped(words) + "</small>";
    out_ += "</p>\n";
  }

  void operator()(const SoftmaxTable& table) {
    out_ += "<p>Row <b>" + xml_escaped(table.row_label) +
            "</b>: " + xml_escaped(softmax_summary(table)) + "</p>\n";
    if (table.row.fully_masked) return;
    const std::vector<SoftmaxColumn> columns = softmax_columns(table);
    out_ += "<figure><table>\n<tr><th scope=\"col\">key</th>";
    for (const SoftmaxColumn& column : columns)
      out_ += "<th scope=\"col\">" + xml_escaped(column.title) + "</th>";
    out_ += "</tr>\n";
    for (std::size_t j = 0; j < table.col_labels.size(); ++j) {
      out_ += "<tr><th scope=\"row\">" + xml_escaped(table.col_labels[j]) + "</th>";
      for (const SoftmaxColumn& column : columns)
        out_ += "<td>" + xml_escaped(column.cells[j]) + "</td>";
      out_ += "</tr>\n";
    }
    out_ += "</table></figure>\n";
  }

  void operator()(const Parts& parts) {
    const Combination& c = parts.combination;
    out_ += "<p><b>" + xml_escaped(c.name) + "</b> as a sum:</p>\n<ul class=\"formula\">\n";
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      const Part& part = c.parts[k];
      if (const std::string more = missing_before(parts, k); !more.empty())
        out_ += "<li>" + more + "</li>\n";
      out_ += "<li>";
      if (c.view != View::outer) out_ += xml_escaped(format(part.coefficient, parts.style)) + " · ";
      out_ += "(" + xml_escaped(part.name) +
              ") = " + xml_escaped(matrix_text(part.product, parts.style)) + "</li>\n";
    }
    out_ += "<li>sum: " + xml_escaped(matrix_text(c.value, parts.style)) + "</li>\n</ul>\n";
  }

  void operator()(const Comparison& comparison) {
    for (const std::string& line : comparison_lines(comparison))
      out_ += "<p>" + xml_escaped(line) + "</p>\n";
  }

  std::string document(const std::string& title) const {
    return kHead + ("<title>" + xml_escaped(title) + "</title>\n</head>\n<body>\n<main>\n") + out_ +
           "</main>\n</body>\n</html>\n";
  }

 private:
  void grid(const Grid& grid) {
    out_ += "<figure><table>\n<tr><th scope=\"col\">" + xml_escaped(axes_text(grid)) + "</th>";
    for (const std::string& label : grid.col_labels)
      out_ += "<th scope=\"col\">" + xml_escaped(label) + "</th>";
    out_ += "</tr>\n";
    for (std::size_t i = 0; i < grid.row_labels.size(); ++i) {
      out_ += "<tr><th scope=\"row\">" + xml_escaped(grid.row_labels[i]) + "</th>";
      for (std::size_t j = 0; j < grid.cells[i].size(); ++j) cell(grid, i, j);
      out_ += "</tr>\n";
    }
    out_ += "</table><figcaption><b style=\"color:" + hex(color_of_name(grid.id)) + "\">" +
            xml_escaped(name_of(grid)) + "</b> " + shape_text(grid.rows, grid.cols);
    if (const std::size_t n = left_out(grid.row_gaps))
      out_ += ", … " + with_commas(n) + " more rows";
    if (const std::size_t n = left_out(grid.col_gaps))
      out_ += ", … " + with_commas(n) + " more columns";
    out_ += "</figcaption></figure>\n";
  }

  void cell(const Grid& grid, std::size_t i, std::size_t j) {
    const Cell& cell = grid.cells[i][j];
    const bool row = grid.marked_row == i, col = grid.marked_col == j;
    const bool marked = grid.marked_row && grid.marked_col ? row && col : row || col;
    std::string classes;
    if (cell.kind == Cell::Kind::masked) classes = "masked";
    if (cell.kind == Cell::Kind::ellipsis) classes = "gone";
    if (marked) classes += classes.empty() ? "marked" : " marked";
    out_ += "<td";
    if (!classes.empty()) out_ += " class=\"" + classes + "\"";
    if (cell.kind == Cell::Kind::number)
      out_ += " style=\"background:" + hex(color_of(grid, cell)) + "\"";
    out_ += ">" + xml_escaped(cell.text) + "</td>";
  }

  std::string out_;
};

}  // namespace

std::string render_html(const Trace& trace, const RenderOptions& options) {
  Writer writer;
  for (const Block& block : build_document(trace, options)) std::visit(writer, block);
  return writer.document(trace.problem.title.empty() ? "Attention, step by step"
                                                     : trace.problem.title);
}

}  // namespace heed::explain
