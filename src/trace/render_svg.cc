// A trace as one SVG picture: everything below each other, matrices as grids of coloured cells.
#include <algorithm>
#include <string>
#include <string_view>

#include "heed/render.h"
#include "trace/color.h"
#include "trace/document.h"
#include "trace/expression.h"
#include "trace/width.h"
#include "trace/xml.h"

namespace heed::explain {
namespace {

constexpr double kMargin = 24, kWidth = 1000;  // of the page, before a grid makes it wider
constexpr double kCharacter = 8.43;            // of a 14 px monospace font
constexpr double kRow = 24, kPad = 8, kGap = 14, kLine = 20;
constexpr std::size_t kLineColumns = 112;  // text is wrapped here

class Picture {
 public:
  void operator()(const Heading& heading) {
    y_ += heading.level == 1 ? 8 : 26;
    text(kMargin, y_ + 16, heading.text, heading.level == 1 ? "title" : "part");
    y_ += heading.level == 1 ? 34 : 28;
  }
  void operator()(const Paragraph& paragraph) { lines(paragraph.text, "note"); }

  void operator()(const Facts& facts) {
    for (const auto& [name, value] : facts.items) lines(name + ": " + value, "note");
    y_ += 10;
  }

  void operator()(const Graph& graph) {
    const GraphDrawing drawing = draw_graph(graph.nodes);
    out_ += "<g transform=\"translate(" + coordinate(kMargin) + " " + coordinate(y_) + ")\">\n" +
            drawing.elements + "</g>\n";
    width_ = std::max(width_, drawing.width + 2 * kMargin);
    y_ += drawing.height + 16;
  }

  void operator()(const StepHead& head) {
    y_ += 22;
    std::string title = head.text.title + (head.of.empty() ? "" : " (" + head.of + ")");
    if (!head.text.formula.empty()) title += "   " + head.text.formula;
    text(kMargin, y_ + 14, title, "step");
    y_ += 24;
    std::string words = head.text.shapes;
    if (!head.text.why.empty()) words += (words.empty() ? "" : ". ") + head.text.why;
    if (!words.empty()) lines(words, "note");
    y_ += 6;
  }

  // Grids side by side; the row breaks where the next would leave the page.
  void operator()(const Equation& equation) {
    double x = kMargin, row_height = 0;
    for (std::size_t g = 0; g < equation.grids.size(); ++g) {
      const Grid& grid = equation.grids[g];
      const std::string sign = g == 0 ? "" : equation.operators[g - 1];
      const double sign_width = kCharacter * static_cast<double>(display_width(sign)) + 2 * kGap;
      const double needed = (g == 0 ? 0 : sign_width) + width_of(grid);
      if (g > 0 && x + needed > kWidth - kMargin) {
        y_ += row_height + kGap;
        x = kMargin;
        row_height = 0;
      }
      if (g > 0) {
        text(x + sign_width / 2, y_ + height_of(grid) / 2, sign, "sign");
        x += sign_width;
      }
      draw(grid, x);
      x += width_of(grid);
      row_height = std::max(row_height, height_of(grid));
      width_ = std::max(width_, x + kMargin);
    }
    y_ += row_height + kGap;
  }

  void operator()(const Working& working) {
    const Expansion& e = working.expansion;
    std::string line = to_text(e.symbol, working.style);
    for (const WorkedLine& worked : worked_lines(e, working.style))
      line += (worked.exact ? " = " : " ≈ ") + to_text(*worked.right, working.style);
    for (const std::string& words : {e.reading, e.note})
      if (!words.empty()) line += "   (" + words + ")";
    lines(line, "work");
    y_ += 4;
  }

  void operator()(const SoftmaxTable& table) {
    lines("Row " + table.row_label + ": " + softmax_summary(table), "note");
    if (table.row.fully_masked) return;
    std::vector<std::string> titles;
    std::vector<std::vector<Cell>> cells(table.col_labels.size());
    for (const SoftmaxColumn& column : softmax_columns(table)) {
      titles.push_back(column.title);
      for (std::size_t j = 0; j < column.cells.size(); ++j) {
        Cell& cell = cells[j].emplace_back();
        cell.text = column.cells[j];
        if (!table.row.visible[j]) cell.kind = Cell::Kind::masked;
      }
    }
    Grid grid = make_table(table.col_labels, titles, cells);
    grid.row_axis = Axis::key;
    draw(grid, kMargin);
    width_ = std::max(width_, width_of(grid) + 2 * kMargin);
    y_ += height_of(grid) + 4;
  }

  void operator()(const Parts& parts) {
    const Combination& c = parts.combination;
    lines(c.name + " as a sum:", "note");
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      const Part& part = c.parts[k];
      if (const std::string more = missing_before(parts, k); !more.empty()) lines(more, "work");
      const std::string factor =
          c.view == View::outer ? "" : format(part.coefficient, parts.style) + " · ";
      lines(factor + "(" + part.name + ") = " + matrix_text(part.product, parts.style), "work");
    }
    lines("sum: " + matrix_text(c.value, parts.style), "work");
  }

  void operator()(const Comparison& comparison) {
    for (const std::string& line : comparison_lines(comparison)) lines(line, "note");
  }

  std::string document(const std::string& title) const {
    const std::string width = coordinate(width_), height = coordinate(y_ + kMargin);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + width + " " + height + "\" role=\"img\">\n<title>" +
           xml_escaped(title) + "</title>\n" + kStyle +
           "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + out_ + "</svg>\n";
  }

 private:
  static constexpr const char* kStyle = R"svg(<style>
text { font: 14px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1b1f24; }
.title { font: bold 24px "DejaVu Sans", system-ui, sans-serif; }
.part { font: bold 19px "DejaVu Sans", system-ui, sans-serif; }
.step { font: bold 16px "DejaVu Sans", system-ui, sans-serif; }
.note { font: 14px "DejaVu Sans", system-ui, sans-serif; fill: #444c56; }
.label { fill: #57606a; }
.right { text-anchor: end; }
.name { font-weight: bold; text-anchor: middle; }
.sign { font-size: 17px; text-anchor: middle; }
</style>
<defs><pattern id="masked" width="6" height="6" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/><rect width="2" height="6"
 fill="#dde"/></pattern></defs>
)svg";

  void text(double x, double y, std::string_view words, std::string_view style) {
    if (words.empty()) return;
    out_ += "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" class=\"" +
            std::string(style) + "\">" + xml_escaped(words) + "</text>\n";
  }

  // Words on as many lines as they need.
  void lines(std::string_view words, std::string_view style) {
    while (!words.empty()) {
      std::string_view line = words;
      if (display_width(line) > kLineColumns) {
        std::size_t end = line.rfind(' ', kLineColumns);
        if (end == std::string_view::npos || end == 0) end = line.find(' ');
        if (end != std::string_view::npos) line = line.substr(0, end);
      }
      text(kMargin, y_ + 14, line, style);
      width_ =
          std::max(width_, 2 * kMargin + kCharacter * static_cast<double>(display_width(line)));
      y_ += kLine;
      words.remove_prefix(std::min(words.size(), line.size() + 1));
    }
  }

  static double column_width(const Grid& grid, std::size_t j) {
    std::size_t most = display_width(grid.col_labels[j]);
    for (const std::vector<Cell>& row : grid.cells)
      most = std::max(most, display_width(row[j].text));
    return kCharacter * static_cast<double>(most) + 2 * kPad;
  }
  static double label_width(const Grid& grid) {
    std::size_t most = display_width(axes_text(grid));
    for (const std::string& label : grid.row_labels) most = std::max(most, display_width(label));
    return kCharacter * static_cast<double>(most) + kPad;
  }
  static double width_of(const Grid& grid) {
    double width = label_width(grid);
    for (std::size_t j = 0; j < grid.col_labels.size(); ++j) width += column_width(grid, j);
    return std::max(width, kCharacter * static_cast<double>(display_width(caption(grid))));
  }
  static double height_of(const Grid& grid) {
    return kRow * static_cast<double>(grid.row_labels.size() + 1) + (grid.id.empty() ? 4 : 26);
  }

  static std::string caption(const Grid& grid) {
    std::string text = name_of(grid) + "  " + shape_text(grid.rows, grid.cols);
    if (const std::size_t n = left_out(grid.row_gaps))
      text += ", … " + with_commas(n) + " more rows";
    if (const std::size_t n = left_out(grid.col_gaps))
      text += ", … " + with_commas(n) + " more columns";
    return text;
  }

  void draw(const Grid& grid, double x) {
    const double labels = label_width(grid);
    text(x + labels - kPad / 2, y_ + 16, axes_text(grid), "label right");
    double left = x + labels;
    for (std::size_t j = 0; j < grid.col_labels.size(); ++j) {
      const double width = column_width(grid, j);
      text(left + width - kPad, y_ + 16, grid.col_labels[j], "label right");
      for (std::size_t i = 0; i < grid.row_labels.size(); ++i) {
        const double top = y_ + kRow * static_cast<double>(i + 1);
        if (j == 0) text(x + labels - kPad / 2, top + 16, grid.row_labels[i], "label right");
        cell(grid, i, j, left, top, width);
      }
      left += width;
    }
    if (grid.id.empty()) return;
    const double below = y_ + kRow * static_cast<double>(grid.row_labels.size() + 1) + 17;
    out_ += "<text x=\"" + coordinate((x + labels + left) / 2) + "\" y=\"" + coordinate(below) +
            "\" class=\"name\" style=\"fill:" + hex(color_of_name(grid.id)) + "\">" +
            xml_escaped(caption(grid)) + "</text>\n";
  }

  void cell(const Grid& grid, std::size_t i, std::size_t j, double x, double y, double width) {
    const Cell& cell = grid.cells[i][j];
    const bool row = grid.marked_row == i, col = grid.marked_col == j;
    const bool marked = grid.marked_row && grid.marked_col ? row && col : row || col;
    const std::string fill =
        cell.kind == Cell::Kind::masked ? "url(#masked)" : hex(color_of(grid, cell));
    out_ += "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" width=\"" +
            coordinate(width) + "\" height=\"" + coordinate(kRow) + "\" fill=\"" + fill +
            "\" stroke=\"" + (marked ? "#111\" stroke-width=\"2.5" : "#ccd4dc") + "\"/>\n";
    text(x + width - kPad, y + 17, cell.text, "right");
  }

  std::string out_;
  double y_ = kMargin, width_ = kWidth;
};

}  // namespace

std::string render_svg(const Trace& trace, const RenderOptions& options) {
  Picture picture;
  for (const Block& block : build_document(trace, options)) std::visit(picture, block);
  return picture.document(trace.problem.title.empty() ? "Attention, step by step"
                                                      : trace.problem.title);
}

}  // namespace heed::explain
