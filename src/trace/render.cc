#include "heed/render.h"

#include "base/checks.h"

namespace heed::explain {

Format parse_format(std::string_view name) {
  if (name == "text") return Format::text;
  if (name == "md" || name == "markdown") return Format::markdown;
  if (name == "latex" || name == "tex") return Format::latex;
  if (name == "svg") return Format::svg;
  if (name == "html") return Format::html;
  if (name == "json") return Format::json;
  fail("format: is \"", name, "\", expected text, md, latex, svg, html or json");
}

std::string render(const Trace& trace, Format format, const RenderOptions& options) {
  switch (format) {
    case Format::text: return render_text(trace, options);
    case Format::markdown: return render_markdown(trace, options);
    case Format::latex: return render_latex(trace, options);
    case Format::svg: return render_svg(trace, options);
    case Format::html: return render_html(trace, options);
    case Format::json: break;
  }
  if (!options.at) return to_json(trace);
  const EntryName& at = *options.at;
  return to_json(expand(trace, trace.at(at.id, at.batch, at.head), at.row, at.col), options.digits);
}

}  // namespace heed::explain
