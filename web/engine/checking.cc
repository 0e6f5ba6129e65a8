#include "engine/checking.h"

#include <string>

#include "heed/check.h"

namespace heed::web {

Json check_solution(Session& session, const Request& request) {
  const Solved& solved = slot_of(session, "main");
  const explain::CheckReport report =
      check(solved.trace, parse_solution(request.at("solution").get<std::string>(), solved.trace));
  const auto finding = [&](const explain::Finding& f) -> Json {
    return Object()
        .add("mark", name_of(f.mark))
        .add("id", f.id)
        .add("batch", f.batch)
        .add("head", f.head)
        .add("row", f.row)
        .add("col", f.col)
        .add("where", f.where)
        .add("written", f.written)
        .add("expected", explain::format(f.expected, solved.style))
        .add("diagnosis", f.diagnosis);
  };
  return Object()
      .add("findings", array_of(report.findings, finding))
      .add("correct", report.correct)
      .add("wrong", report.wrong)
      .add("carried", report.carried)
      .add("missing", report.missing)
      .add("firstWrong", report.first_wrong ? Json(*report.first_wrong) : Json())
      .add("summary", render_text(solved.trace, report));
}

Json diff_slots(Session& session, const Request&) {
  const Solved &a = slot_of(session, "main"), &b = slot_of(session, "other");
  const explain::DiffReport report = diff(a.trace, b.trace);
  Json first;
  if (!report.differences.empty()) {
    const explain::Difference& d = report.differences.front();
    const explain::Node& node = a.trace.at(d.id, d.batch, d.head);
    first =
        Object()
            .add("id", d.id)
            .add("batch", d.batch)
            .add("head", d.head)
            .add("row", d.row)
            .add("col", d.col)
            .add("where", d.id + "[" + node.row_labels[d.row] + ", " + node.col_labels[d.col] + "]")
            .add("a", explain::format(d.a, a.style))
            .add("b", explain::format(d.b, a.style));
  }
  return Object()
      .add("shape", report.shape)
      .add("same", report.same)
      .add("first", first)
      .add("count", report.differences.size())
      .add("summary", render_text(a.trace, b.trace, report));
}

}  // namespace heed::web
