// A trace as Markdown: tables for matrices, $...$ for formulas (GitHub, Jupyter, Pandoc).
#include <algorithm>
#include <string>
#include <string_view>

#include "heed/render.h"
#include "trace/document.h"
#include "trace/expression.h"

namespace heed::explain {
namespace {

// Text in which no character means anything to Markdown or HTML.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '|': result += "&#124;"; break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '{':
      case '}':
      case '[':
      case ']':
      case '#':
      case '$':
      case '~':
      case '!':
        result += '\\';
        result += c;
        break;
      default: result += c;
    }
  }
  return result;
}

class Writer {
 public:
  void operator()(const Heading& heading) {
    paragraph(std::string(static_cast<std::size_t>(heading.level), '#') + " " +
              escaped(heading.text));
  }
  void operator()(const Paragraph& text) { paragraph(escaped(text.text)); }

  void operator()(const Facts& facts) {
    for (const auto& [name, value] : facts.items)
      out_ += "- " + escaped(name) + ": " + escaped(value) + "\n";
    out_ += "\n";
  }

  void operator()(const Graph& graph) {
    for (const GraphNode& node : graph.nodes) {
      if (node.given) continue;
      out_ += "1. " + escaped(node.label) + " of ";
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        out_ += (i == 0 ? "" : ", ") + escaped(node.inputs[i]);
      out_ += " gives " + escaped(node.id) + "\n";
    }
    out_ += "\n";
  }

  void operator()(const StepHead& head) {
    paragraph("### " + escaped(head.text.title) +
              (head.of.empty() ? "" : " (" + escaped(head.of) + ")"));
    std::string line;
    if (!head.text.latex.empty()) line = "$" + head.text.latex + "$";
    if (!head.text.shapes.empty()) line += (line.empty() ? "" : ", ") + head.text.shapes;
    if (!head.text.why.empty()) line += (line.empty() ? "" : ". ") + escaped(head.text.why);
    if (!line.empty()) paragraph(line);
  }

  void operator()(const Equation& equation) {
    for (std::size_t g = 0; g < equation.grids.size(); ++g) {
      const Grid& grid = equation.grids[g];
      std::string caption = "**" + escaped(name_of(grid)) + "**";
      if (g > 0 && !equation.operators[g - 1].empty())
        caption = escaped(equation.operators[g - 1]) + " " + caption;
      paragraph(caption + " (" + shape_text(grid.rows, grid.cols) + not_shown(grid) + ")");
      table(grid);
    }
  }

  void operator()(const Working& working) {
    const Expansion& e = working.expansion;
    std::string math = to_latex(e.symbol, working.style);
    for (const WorkedLine& line : worked_lines(e, working.style))
      math += (line.exact ? " = " : " \\approx ") + to_latex(*line.right, working.style);
    std::string text = "$" + math + "$";
    if (!e.reading.empty()) text += " (" + escaped(e.reading) + ")";
    if (!e.note.empty()) text += ": " + escaped(e.note);
    paragraph(text);
  }

  void operator()(const SoftmaxTable& table) {
    paragraph("Row " + escaped(table.row_label) + ": " + escaped(softmax_summary(table)));
    if (table.row.fully_masked) return;
    const std::vector<SoftmaxColumn> columns = softmax_columns(table);
    out_ += "| key |";
    for (const SoftmaxColumn& column : columns) out_ += " " + escaped(column.title) + " |";
    out_ += "\n|---|";
    for (std::size_t c = 0; c < columns.size(); ++c) out_ += "---:|";
    out_ += "\n";
    for (std::size_t j = 0; j < table.col_labels.size(); ++j) {
      out_ += "| **" + escaped(table.col_labels[j]) + "** |";
      for (const SoftmaxColumn& column : columns) out_ += " " + escaped(column.cells[j]) + " |";
      out_ += "\n";
    }
    out_ += "\n";
  }

  void operator()(const Parts& parts) {
    const Combination& c = parts.combination;
    paragraph("**" + escaped(c.name) + "** as a sum:");
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      const Part& part = c.parts[k];
      if (const std::string more = missing_before(parts, k); !more.empty())
        out_ += "- " + more + "\n";
      std::string line = "- " + escaped(part.name);
      if (c.view != View::outer)
        line = "- " + escaped(format(part.coefficient, parts.style)) + " · (" + escaped(part.name) +
               ")";
      out_ += line + " = " + matrix_text(part.product, parts.style) + "\n";
    }
    out_ += "\n";
    paragraph("Sum: " + matrix_text(c.value, parts.style));
  }

  void operator()(const Comparison& comparison) {
    for (const std::string& line : comparison_lines(comparison)) paragraph(escaped(line));
  }

  std::string take() { return std::move(out_); }

 private:
  void paragraph(const std::string& text) { out_ += text + "\n\n"; }

  static std::string not_shown(const Grid& grid) {
    std::string text;
    if (const std::size_t n = left_out(grid.row_gaps))
      text += "; " + with_commas(n) + " rows not shown";
    if (const std::size_t n = left_out(grid.col_gaps))
      text += "; " + with_commas(n) + " columns not shown";
    return text;
  }

  void table(const Grid& grid) {
    out_ += "| " + escaped(axes_text(grid)) + " |";
    for (const std::string& label : grid.col_labels) out_ += " " + escaped(label) + " |";
    out_ += "\n|---|";
    for (std::size_t j = 0; j < grid.col_labels.size(); ++j) out_ += "---:|";
    out_ += "\n";
    for (std::size_t i = 0; i < grid.row_labels.size(); ++i) {
      out_ += "| **" + escaped(grid.row_labels[i]) + "** |";
      for (const Cell& cell : grid.cells[i]) out_ += " " + escaped(cell.text) + " |";
      out_ += "\n";
    }
    out_ += "\n";
  }

  std::string out_;
};

}  // namespace

std::string render_markdown(const Trace& trace, const RenderOptions& options) {
  Writer writer;
  for (const Block& block : build_document(trace, options)) std::visit(writer, block);
  return writer.take();
}

}  // namespace heed::explain
