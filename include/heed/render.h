// Renderers: a trace as a page of text, Markdown, LaTeX, SVG, self-contained HTML, or JSON.
//
// All of them show the same numbers in the same format (four decimals unless asked otherwise,
// integers bare, one format per matrix; "=" where the value is exact as shown and "≈" where it is
// rounded; "<0.0001" instead of a rounded 0; −∞ for a masked score, · for its weight).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/trace.h"

namespace heed::explain {

enum class Format : std::uint8_t { text, markdown, latex, svg, html, json };

// "text", "md" or "markdown", "latex" or "tex", "svg", "html", "json"; throws naming them.
Format parse_format(std::string_view name);

enum class Detail : std::uint8_t {
  output,   // -q   the result only
  normal,   //      every matrix, one entry per step spelled out
  entries,  // -v   every entry
  full,     // -vv  17 digits, maximum and sum of every softmax row, the kernel beside it
};

// The fast kernel's result beside the trace's, computed by the caller.
struct KernelResult {
  std::string id = "O";
  std::size_t batch = 0, head = 0;
  Matrix values;      // as float, widened
  double ulps = 0;    // largest distance to the trace rounded to float, in units of its last place
  std::string where;  // "O[2,1]"
};
struct KernelComparison {
  std::string target;  // "prefill, AVX2"
  std::vector<KernelResult> results;
};

struct RenderOptions {
  Detail detail = Detail::normal;
  int digits = 4;                    // decimals; Detail::full shows 17 significant digits
  std::vector<std::string> steps;    // keys of StepText; empty: all
  std::optional<EntryName> at;       // spell out this entry, and only its step
  View view = View::entry;           // how products are worked
  std::optional<std::size_t> batch;  // one sequence; default: all
  std::optional<KernelComparison> kernel;
  // Text only.
  std::size_t width = 80;
  bool color = false;  // ANSI background colours
  bool ascii = false;  // nothing but ASCII
};

std::string render(const Trace& trace, Format format, const RenderOptions& options = {});

std::string render_text(const Trace& trace, const RenderOptions& options = {});
std::string render_markdown(const Trace& trace, const RenderOptions& options = {});
std::string render_latex(const Trace& trace, const RenderOptions& options = {});
std::string render_svg(const Trace& trace, const RenderOptions& options = {});
std::string render_html(const Trace& trace, const RenderOptions& options = {});

}  // namespace heed::explain
