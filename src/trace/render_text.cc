// A trace as a page of text: what `heed explain` prints.
#include <algorithm>
#include <utility>

#include "heed/render.h"
#include "trace/document.h"
#include "trace/expression.h"
#include "trace/text_graph.h"
#include "trace/text_grid.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr std::size_t kNarrowest = 40;  // a page narrower than this is laid out as if it were

class Writer {
 public:
  Writer(const Trace& trace, const RenderOptions& options)
      : trace_(trace),
        options_(options),
        style_{std::max(options.width, kNarrowest), options.color, options.ascii} {}

  void operator()(const Heading& heading) {
    const std::string text = fit(style_(heading.text), style_.width - 8, style_.ascii);
    gap();
    if (heading.level == 1) {
      put(text);
      put(repeated(style_("═"), display_width(text)));
    } else {
      const std::string rule = repeated(style_("═"), style_.width - display_width(text) - 5);
      put(style_("═══ ") + text + " " + rule);
    }
    if (heading.level == 1) indices_ = true;
    step_ = 0;
  }

  void operator()(const Paragraph& paragraph) {
    gap();
    paragraph_lines(paragraph.text, 0);
  }

  void operator()(const Facts& facts) {
    std::size_t width = 0;
    for (const auto& [name, value] : facts.items) width = std::max(width, display_width(name));
    for (const auto& [name, value] : facts.items) {
      const std::vector<std::string> lines = wrapped(style_(value), style_.width - width - 2);
      for (std::size_t i = 0; i < lines.size(); ++i)
        put(pad_right(i == 0 ? style_(name) : "", width) + "  " + lines[i]);
    }
    if (!std::exchange(indices_, false)) return;
    gap();
    paragraph_lines(
        "Rows are queries (from), columns are keys (to). Rows and columns count from 1.", 0);
  }

  void operator()(const Graph&) {
    gap();
    for (const std::string& line : graph_lines(trace_, style_))
      put(fit(line, style_.width, style_.ascii));
  }

  void operator()(const StepHead& head) {
    gap();
    std::string title = style_(head.text.title);
    if (!options_.at) title = std::to_string(++step_) + ". " + title;
    if (!head.of.empty()) title += ", " + head.of;
    const std::string formula = style_(head.text.formula), shapes = style_(head.text.shapes);
    const std::string left = title + (formula.empty() ? "" : "    " + formula);
    const std::size_t both = display_width(left) + display_width(shapes);
    if (both + 2 <= style_.width) {
      put(left + std::string(style_.width - both, ' ') + shapes);
    } else {
      put(fit(title, style_.width, style_.ascii));
      paragraph_lines(head.text.formula + "    " + head.text.shapes, 2);
    }
    put(repeated(style_("─"), style_.width));
    if (!head.text.why.empty()) paragraph_lines(head.text.why, 0);
  }

  void operator()(const Equation& equation) {
    gap();
    for (const std::string& line : equation_lines(equation, style_)) put(line);
    tight_ = false;
  }

  void operator()(const Working& working) {
    if (!std::exchange(tight_, true)) gap();
    const Expansion& e = working.expansion;
    const std::string left = "  " + to_text(e.symbol, working.style);
    std::string reading =
        e.note.empty() || e.note == "visible" ? e.reading : e.reading + ": " + e.note;
    reading = style_("(" + reading + ")");
    std::vector<std::string> rights;
    for (const WorkedLine& line : worked_lines(e, working.style))
      rights.push_back(style_(line.exact ? "= " : "≈ ") + to_text(*line.right, working.style));
    std::string line = left;
    for (const std::string& right : rights) line += " " + right;
    if (display_width(line) + 3 + display_width(reading) <= style_.width) {
      put(line + "   " + reading);
    } else if (display_width(line) <= style_.width) {
      put(line);
      paragraph_lines(reading, display_width(left) + 1);
    } else if (display_width(left) + 3 + display_width(reading) <= style_.width) {
      put(left + "   " + reading);
      for (const std::string& right : rights) long_sum(right, display_width(left) + 1);
    } else {
      put(left);
      paragraph_lines(reading, display_width(left) + 1);
      for (const std::string& right : rights) long_sum(right, display_width(left) + 1);
    }
    if (options_.at) uses(e);
  }

  void operator()(const SoftmaxTable& table) {
    gap();
    const std::string title = "  Row " + style_(table.row_label);
    if (table.row.fully_masked) {
      paragraph_lines(title.substr(2) + " " + softmax_summary(table), 2);
      return;
    }
    softmax_grid(table, title);
    const SoftmaxRow& row = table.row;
    const auto is = [&](double value) {
      return style_(is_exact(value, table.style) ? " = " : " ≈ ");
    };
    std::string facts = "max" + is(row.max) + format(row.max, table.style) + ",  sum" +
                        is(row.sum) + format(row.sum, table.style);
    if (row.sink) facts += ", with the sink of score " + format(*row.sink, table.style);
    if (options_.detail == Detail::full)
      facts += ",  log-sum-exp" + is(row.lse) + format(row.lse, table.style);
    for (const std::string& line : wrapped(facts, style_.width - 4)) put("    " + line);
    if (row.naive_fails) {
      const std::string why = row.naive_sum == 0
                                  ? "every exp(z) underflows to 0"
                                  : "exp(z) overflows to " + format(row.naive_sum, table.style);
      paragraph_lines("Without subtracting the maximum, " + why +
                          " and the weights are lost; exp(z − max) is the same share, and safe.",
                      4);
    }
    tight_ = false;
  }

  void operator()(const Parts& parts) {
    gap();
    const Combination& c = parts.combination;
    if (c.view == View::outer) {
      outer(parts);
      return;
    }
    put("  " + style_(c.name) + " =");
    std::vector<std::vector<std::string>> rows;
    for (const Part& part : c.parts) {
      const std::string vector = matrix_text(part.vector, parts.style);
      const std::string factor =
          is_absent(part.symbol) || part.symbol.kind != Expression::Kind::symbol
              ? ""
              : format(part.coefficient, parts.style) + style_("·");
      rows.push_back({(rows.empty() ? "  " : "+ ") + factor, vector, part.name,
                      style_(exact(part.product, parts.style) ? "= " : "≈ ") +
                          matrix_text(part.product, parts.style)});
    }
    columns(rows);
    put("    " + style_(exact(c.value, parts.style) ? "= " : "≈ ") +
        style_(matrix_text(c.value, parts.style)));
    tight_ = false;
  }

  void operator()(const Comparison& comparison) {
    gap();
    for (const std::string& line : comparison_lines(comparison)) paragraph_lines(line, 0);
  }

  std::string text() { return std::move(out_); }

 private:
  void put(const std::string& line) {
    std::string trimmed = line;
    trimmed.erase(trimmed.find_last_not_of(' ') + 1);
    out_ += trimmed + "\n";
  }
  // An empty line, except at the top of the page.
  void gap() {
    if (!out_.empty()) out_ += "\n";
    tight_ = false;
  }
  void paragraph_lines(std::string_view text, std::size_t indent) {
    for (const std::string& line : wrapped(style_(text), style_.width - indent))
      put(std::string(indent, ' ') + line);
  }
  static std::string repeated(std::string_view text, std::size_t times) {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) result += text;
    return result;
  }
  static bool exact(const Matrix& matrix, const NumberStyle& style) {
    const NumberFormat number = choose_format(matrix.values, style);
    return std::all_of(matrix.values.begin(), matrix.values.end(),
                       [&](double value) { return is_exact(value, number); });
  }

  // "= a + b + c" broken before a plus where it is too long for the page.
  void long_sum(const std::string& right, std::size_t indent) {
    for (std::size_t i = 0; const std::string& line : wrapped(right, style_.width - indent))
      put(std::string(indent + (i++ == 0 ? 0 : 2), ' ') + line);
  }

  void uses(const Expansion& e) {
    if (e.used_by.empty()) return;
    std::string text = "used by";
    for (std::size_t i = 0; i < e.used_by.size(); ++i) {
      text += (i == 0 ? " " : ", ") + e.used_by[i].where;
      if (trace_.sizes.heads > 1) text += " (head " + std::to_string(e.used_by[i].head + 1) + ")";
    }
    paragraph_lines(text, 2);
  }

  // The keys across, one line each for z, z − max, exp and weight.
  void softmax_grid(const SoftmaxTable& table, const std::string& title) {
    Grid grid;
    grid.scale = Grid::Scale::none;
    grid.col_labels = table.col_labels;
    grid.cols = grid.col_labels.size();
    for (const SoftmaxColumn& column : softmax_columns(table)) {
      grid.row_labels.push_back(column.title);
      std::vector<Cell>& line = grid.cells.emplace_back();
      for (const std::string& text : column.cells) {
        Cell& cell = line.emplace_back();
        cell.text = text;
      }
    }
    grid.rows = grid.cells.size();
    put(title);
    for (std::size_t y = 0; const std::string& line : equation_lines({{grid}, {}}, style_))
      if (y++ > 0) put("  " + line);  // the grid has no name of its own
  }

  void outer(const Parts& parts) {
    const Combination& c = parts.combination;
    put("  " + style_(c.name) + " as a sum of " + std::to_string(c.parts.size()) +
        " outer products:");
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      put(std::string(k == 0 ? "    " : "  + ") + style_(c.parts[k].name) +
          style_(exact(c.parts[k].product, parts.style) ? " = " : " ≈ "));
      matrix_lines(c.parts[k].product, parts.style);
    }
    put(style_(exact(c.value, parts.style) ? "  =" : "  ≈"));
    matrix_lines(c.value, parts.style);
    tight_ = false;
  }

  void matrix_lines(const Matrix& matrix, const NumberStyle& number_style) {
    const NumberFormat number = choose_format(matrix.values, number_style);
    Grid grid;
    grid.scale = Grid::Scale::none;
    grid.rows = matrix.rows;
    grid.cols = matrix.cols;
    for (std::size_t i = 0; i < matrix.rows; ++i) {
      grid.row_labels.emplace_back("  ");
      std::vector<Cell>& line = grid.cells.emplace_back();
      for (std::size_t j = 0; j < matrix.cols; ++j) {
        Cell& cell = line.emplace_back();
        cell.text = format(matrix(i, j), number);
      }
    }
    grid.col_labels.assign(matrix.cols, "");
    for (std::size_t y = 0; const std::string& line : equation_lines({{grid}, {}}, style_))
      if (y++ > 1) put("  " + line);  // neither name nor labels
  }

  // Rows of texts set in columns.
  void columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (widths.size() <= i) widths.push_back(0);
        widths[i] = std::max(widths[i], display_width(style_(row[i])));
      }
    for (const auto& row : rows) {
      std::string line = "    ";
      for (std::size_t i = 0; i < row.size(); ++i)
        line +=
            (i == 0 ? pad_left(style_(row[i]), widths[i]) : pad_right(style_(row[i]), widths[i])) +
            (i == 0 ? "" : "  ");
      put(line);
    }
  }

  const Trace& trace_;
  const RenderOptions& options_;
  const TextStyle style_;
  std::string out_;
  std::size_t step_ = 0;
  bool indices_ = false;  // the note on indices is still to come
  bool tight_ = false;    // the line before was a working: no empty line between
};

}  // namespace

std::string render_text(const Trace& trace, const RenderOptions& options) {
  Writer writer(trace, options);
  for (const Block& block : build_document(trace, options)) std::visit(writer, block);
  return writer.text();
}

}  // namespace heed::explain
