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
    for (const std::string& line : graph_lines(trace_, style_)) put(line);
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
    put("  " + fit(style_(c.name), style_.width - 4, style_.ascii) + " =");
    std::vector<std::string> lines = part_lines(parts, kMostShown, false);
    for (std::size_t most = kMostShown; widest(lines) > style_.width && most > 1; --most)
      lines = part_lines(parts, most, true);
    for (const std::string& line : lines) put(line);
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
    for (std::size_t i = 0; const std::string& line : wrapped(right, style_.width - indent - 2))
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
    std::vector<std::string> titles;
    std::vector<std::vector<Cell>> cells;
    for (const SoftmaxColumn& column : softmax_columns(table)) {
      titles.push_back(column.title);
      std::vector<Cell>& line = cells.emplace_back();
      for (const std::string& text : column.cells) line.emplace_back().text = text;
    }
    const Grid grid = make_table(titles, table.col_labels, cells);
    put(fit(title, style_.width, style_.ascii));
    for (std::size_t y = 0; const std::string& line : equation_lines({{grid}, {}}, style_))
      if (y++ > 0) put("  " + line);  // the grid has no name of its own
  }

  void outer(const Parts& parts) {
    const Combination& c = parts.combination;
    put("  " + style_(c.name) + " as a sum of " + std::to_string(c.parts.size()) +
        " outer products:");
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      if (const std::string more = missing_before(parts, k); !more.empty())
        put("  + " + style_(more));
      put(std::string(k == 0 ? "    " : "  + ") +
          fit(style_(c.parts[k].name), style_.width - 8, style_.ascii) +
          style_(exact(c.parts[k].product, parts.style) ? " = " : " ≈ "));
      matrix_lines(c.parts[k].product, parts.style);
    }
    put(style_(exact(c.value, parts.style) ? "  =" : "  ≈"));
    matrix_lines(c.value, parts.style);
    tight_ = false;
  }

  void matrix_lines(const Matrix& matrix, const NumberStyle& number_style) {
    const NumberFormat number = choose_format(matrix.values, number_style);
    std::vector<std::vector<Cell>> cells(matrix.rows);
    for (std::size_t i = 0; i < matrix.rows; ++i)
      for (std::size_t j = 0; j < matrix.cols; ++j)
        cells[i].emplace_back().text = format(matrix(i, j), number);
    const Grid grid = make_table(std::vector<std::string>(matrix.rows, "  "),
                                 std::vector<std::string>(matrix.cols), cells);
    for (std::size_t y = 0; const std::string& line : equation_lines({{grid}, {}}, style_))
      if (y++ > 1) put("  " + line);  // neither name nor labels
  }

  // "  0.5·[1, 2]  row I of V  = [0.5, 1]", one line a part (`stacked`: the product on a second
  // one) and one for the sum, each vector with at most `most` numbers.
  std::vector<std::string> part_lines(const Parts& parts, std::size_t most, bool stacked) const {
    const auto equals = [&](const Matrix& matrix) {
      return style_(exact(matrix, parts.style) ? "= " : "≈ ") +
             style_(matrix_text(matrix, parts.style, most));
    };
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> products;
    for (const Part& part : parts.combination.parts) {
      const std::string factor =
          is_absent(part.symbol) || part.symbol.kind != Expression::Kind::symbol
              ? ""
              : format(part.coefficient, parts.style) + style_("·");
      rows.push_back({(rows.empty() ? "  " : "+ ") + factor,
                      style_(matrix_text(part.vector, parts.style, most)),
                      fit(style_(part.name), stacked ? 16 : 24, style_.ascii)});
      products.push_back(equals(part.product));
      if (!stacked) rows.back().push_back(products.back());
    }
    std::vector<std::string> lines;
    for (std::size_t k = 0; const std::string& line : in_columns(rows)) {
      if (const std::string more = missing_before(parts, k); !more.empty())
        lines.push_back("    + " + style_(more));
      lines.push_back(line);
      if (stacked) lines.push_back("        " + products[k]);
      ++k;
    }
    lines.push_back("    " + equals(parts.combination.value));
    return lines;
  }

  // Rows of texts set in columns.
  static std::vector<std::string> in_columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (widths.size() <= i) widths.push_back(0);
        widths[i] = std::max(widths[i], display_width(row[i]));
      }
    std::vector<std::string> lines;
    for (const auto& row : rows) {
      std::string line = "    " + pad_left(row[0], widths[0]);
      for (std::size_t i = 1; i < row.size(); ++i) line += pad_right(row[i], widths[i]) + "  ";
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
    return lines;
  }
  static std::size_t widest(const std::vector<std::string>& lines) {
    std::size_t width = 0;
    for (const std::string& line : lines) width = std::max(width, display_width(line));
    return width;
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
