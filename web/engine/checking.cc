#include "engine/checking.h"

#include <algorithm>
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
  const auto entry = [&](const explain::Difference& d) -> Json {
    const explain::Node& node = a.trace.at(d.id, d.batch, d.head);
    return Object()
        .add("id", d.id)
        .add("batch", d.batch)
        .add("head", d.head)
        .add("row", d.row)
        .add("col", d.col)
        .add("where", d.id + "[" + node.row_labels[d.row] + ", " + node.col_labels[d.col] + "]")
        .add("a", explain::format(d.a, a.style))
        .add("b", explain::format(d.b, a.style));
  };
  const auto& all = report.differences;
  const auto step = std::find_if(all.begin(), all.end(), [&](const explain::Difference& d) {
    return a.trace.at(d.id, d.batch, d.head).op != explain::Op::input;
  });
  return Object()
      .add("shape", report.shape)
      .add("same", report.same)
      .add("first", all.empty() ? Json() : entry(all.front()))
      .add("firstStep", step == all.end() ? Json() : entry(*step))
      .add("count", all.size())
      .add("summary", render_text(a.trace, b.trace, report));
}

}  // namespace heed::web
