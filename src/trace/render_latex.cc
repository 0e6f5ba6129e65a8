// A trace as a LaTeX document for pdflatex (or XeLaTeX, LuaLaTeX): nothing but base packages.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "heed/render.h"
#include "trace/document.h"
#include "trace/expression.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr std::string_view kPreamble = R"(\documentclass[11pt]{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{amsmath,graphicx,iftex}
\ifPDFTeX\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{lmodern}\fi
\renewcommand{\arraystretch}{1.15}
\setlength{\parindent}{0pt}\setlength{\parskip}{6pt plus 2pt}
% A formula on a line of its own, scaled down if it is wider than the page.
\newsavebox{\wide}
\newcommand{\fit}[1]{\sbox{\wide}{$\displaystyle #1$}\begin{center}%
  \ifdim\wd\wide>\linewidth\resizebox{\linewidth}{!}{\usebox{\wide}}\else\usebox{\wide}\fi\end{center}}
)";

// What heed's own symbols are called; other characters outside Latin-1 are declared as they occur.
struct Symbol {
  char32_t code;
  std::string_view latex;
};
constexpr Symbol kSymbols[] = {
    {U'−', "$-$"},       {U'∞', "$\\infty$"},  {U'×', "$\\times$"},      {U'÷', "$\\div$"},
    {U'·', "$\\cdot$"},  {U'√', "$\\surd$"},   {U'→', "$\\rightarrow$"}, {U'↓', "$\\downarrow$"},
    {U'…', "\\ldots{}"}, {U'≈', "$\\approx$"}, {U'²', "$^2$"},           {U'—', "---"},
    {U'–', "--"},
};

std::string code_name(char32_t code) {
  std::string text;
  for (; code != 0; code /= 16) text.insert(text.begin(), "0123456789ABCDEF"[code % 16]);
  while (text.size() < 4) text.insert(text.begin(), '0');
  return text;
}

// Letters that T1-encoded fonts have.
bool in_latin(char32_t code) {
  return code < 0x180;
}

class Writer {
 public:
  void operator()(const Heading& heading) {
    if (heading.level == 1) {
      out_ += "{\\LARGE\\bfseries " + text(heading.text) + "}\\par\\medskip\n\n";
    } else {
      out_ += "\\section*{" + text(heading.text) + "}\n\n";
    }
  }
  void operator()(const Paragraph& paragraph) { out_ += text(paragraph.text) + "\n\n"; }

  void operator()(const Facts& facts) {
    for (const auto& [name, value] : facts.items)
      out_ += "\\textbf{" + text(name) + ":} " + text(value) + "\\\\\n";
    out_ += "\n";
  }

  void operator()(const Graph& graph) {
    out_ += "\\begin{enumerate}\\setlength{\\itemsep}{0pt}\n";
    for (const GraphNode& node : graph.nodes) {
      if (node.given) continue;
      out_ += "\\item " + text(node.label) + " of ";
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        out_ += (i == 0 ? "$" : ", $") + symbol_of(node.inputs[i]) + "$";
      out_ += " gives $" + symbol_of(node.id) + "$\n";
    }
    out_ += "\\end{enumerate}\n\n";
  }

  void operator()(const StepHead& head) {
    out_ += "\\subsection*{" + text(head.text.title) +
            (head.of.empty() ? "" : " (" + text(head.of) + ")");
    if (!head.text.latex.empty()) out_ += "\\quad $" + head.text.latex + "$";
    out_ += "}\n";
    if (!head.text.shapes.empty()) out_ += text(head.text.shapes) + ". ";
    out_ += text(head.text.why) + "\n\n";
  }

  void operator()(const Equation& equation) {
    out_ += "\\fit{\n";
    for (std::size_t g = 0; g < equation.grids.size(); ++g) {
      if (g > 0) out_ += sign(equation.operators[g - 1]) + "\n";
      grid(equation.grids[g]);
    }
    out_ += "}\n\n";
  }

  void operator()(const Working& working) {
    const Expansion& e = working.expansion;
    out_ += "\\fit{" + to_latex(e.symbol, working.style);
    for (const WorkedLine& line : worked_lines(e, working.style))
      out_ += (line.exact ? " = " : " \\approx ") + to_latex(*line.right, working.style);
    const std::string words = e.note.empty()      ? e.reading
                              : e.reading.empty() ? e.note
                                                  : e.reading + ": " + e.note;
    if (!words.empty()) out_ += "\\qquad\\text{(" + text(words) + ")}";
    out_ += "}\n\n";
  }

  void operator()(const SoftmaxTable& table) {
    out_ += "Row \\textbf{" + text(table.row_label) + "}: " + text(softmax_summary(table)) + "\n\n";
    if (table.row.fully_masked) return;
    const std::vector<SoftmaxColumn> columns = softmax_columns(table);
    out_ += "\\fit{\\begin{array}{r|" + std::string(columns.size(), 'r') + "}\n";
    for (const SoftmaxColumn& column : columns) out_ += " & \\text{" + text(column.title) + "}";
    out_ += " \\\\ \\hline\n";
    for (std::size_t j = 0; j < table.col_labels.size(); ++j) {
      out_ += "\\text{" + text(table.col_labels[j]) + "}";
      for (const SoftmaxColumn& column : columns) out_ += " & " + number(column.cells[j]);
      out_ += " \\\\\n";
    }
    out_ += "\\end{array}}\n\n";
  }

  void operator()(const Parts& parts) {
    const Combination& c = parts.combination;
    out_ += "\\textbf{" + text(c.name) + "} as a sum:\n\\begin{itemize}\n";
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      const Part& part = c.parts[k];
      if (const std::string more = missing_before(parts, k); !more.empty())
        out_ += "\\item " + text(more) + "\n";
      out_ += "\\item ";
      if (c.view != View::outer)
        out_ += number(format(part.coefficient, parts.style), true) + " times ";
      out_ += text(part.name) + ": " + text(matrix_text(part.product, parts.style)) + "\n";
    }
    out_ += "\\end{itemize}\nSum: " + text(matrix_text(c.value, parts.style)) + "\n\n";
  }

  void operator()(const Comparison& comparison) {
    for (const std::string& line : comparison_lines(comparison)) out_ += text(line) + "\n\n";
  }

  std::string document() const {
    std::string all(kPreamble);
    all += "\\ifPDFTeX\n";
    for (const char32_t code : unusual_) {
      const auto known = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                                      [&](const Symbol& s) { return s.code == code; });
      const std::string meaning = known != std::end(kSymbols)
                                      ? "\\ifmmode\\text{" + std::string(known->latex) +
                                            "}\\else " + std::string(known->latex) + "\\fi"
                                      : "{\\scriptsize\\ttfamily U+" + code_name(code) + "}";
      all += "\\DeclareUnicodeCharacter{" + code_name(code) + "}{" + meaning + "}\n";
    }
    return all + "\\fi\n\\begin{document}\n" + out_ + "\\end{document}\n";
  }

 private:
  // Text in which no character means anything to TeX; remembers what the fonts may lack.
  std::string text(std::string_view plain) {
    std::string result;
    while (!plain.empty()) {
      const std::string_view before = plain;
      const char32_t code = take_code_point(plain);
      switch (code) {
        case U'\\': result += "\\textbackslash{}"; continue;
        case U'~': result += "\\textasciitilde{}"; continue;
        case U'^': result += "\\textasciicircum{}"; continue;
        case U'<': result += "\\textless{}"; continue;
        case U'>': result += "\\textgreater{}"; continue;
        case U'"': result += "\\textquotedbl{}"; continue;
        case U'#':
        case U'$':
        case U'%':
        case U'&':
        case U'_':
        case U'{':
        case U'}':
          result += '\\';
          result += static_cast<char>(code);
          continue;
        default: break;
      }
      if (!in_latin(code) || code == U'×' || code == U'÷' || code == U'·' || code == U'²')
        unusual_.insert(code);
      result += before.substr(0, before.size() - plain.size());
    }
    return result;
  }

  // A formatted number inside a formula; `alone`: in running text.
  std::string number(const std::string& shown, bool alone = false) {
    std::string math;
    std::string_view rest = shown;
    while (!rest.empty()) {
      const char32_t code = take_code_point(rest);
      switch (code) {
        case U'−': math += '-'; break;
        case U'∞': math += "\\infty"; break;
        case U'·': math += "\\cdot"; break;
        case U'…': math += "\\cdots"; break;
        default: math += code < 0x80 ? std::string(1, static_cast<char>(code)) : "?"; break;
      }
    }
    if (math == "NaN" || math.find('e') != std::string::npos) math = "\\text{" + math + "}";
    return alone ? "$" + math + "$" : math;
  }

  std::string sign(const std::string& plain) {
    return plain.empty() ? "\\qquad" : "\\;\\text{" + text(plain) + "}\\;";
  }

  // "W_Q" is W_Q; "X_KV" is X_{KV}.
  static std::string symbol_of(const std::string& id) {
    const std::size_t bar = id.find('_');
    if (bar == std::string::npos) return id;
    return id.substr(0, bar) + "_{\\mathrm{" + id.substr(bar + 1) + "}}";
  }

  void grid(const Grid& grid) {
    std::string name = symbol_of(grid.id);
    if (grid.head != 0) name += "^{(" + std::to_string(grid.head) + ")}";
    if (grid.transposed) name += "^{\\mathsf T}";
    out_ += "\\underset{" + name + "\\;(" + std::to_string(grid.rows) + "\\times " +
            std::to_string(grid.cols) + ")}{\\begin{array}{r|" +
            std::string(grid.col_labels.size(), 'r') + "}\n";
    out_ += "{\\scriptstyle\\text{" + text(axes_text(grid)) + "}}";
    for (const std::string& label : grid.col_labels) out_ += " & \\text{" + text(label) + "}";
    out_ += " \\\\ \\hline\n";
    for (std::size_t i = 0; i < grid.row_labels.size(); ++i) {
      out_ += "\\text{" + text(grid.row_labels[i]) + "}";
      for (std::size_t j = 0; j < grid.cells[i].size(); ++j) {
        const bool boxed = grid.marked_row == i && grid.marked_col == j;
        const std::string shown = number(grid.cells[i][j].text);
        out_ += " & " + (boxed ? "\\boxed{" + shown + "}" : shown);
      }
      out_ += " \\\\\n";
    }
    out_ += "\\end{array}}\n";
  }

  std::string out_;
  std::set<char32_t> unusual_;
};

}  // namespace

std::string render_latex(const Trace& trace, const RenderOptions& options) {
  Writer writer;
  for (const Block& block : build_document(trace, options)) std::visit(writer, block);
  return writer.document();
}

}  // namespace heed::explain
