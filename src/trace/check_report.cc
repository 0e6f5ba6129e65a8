// What check found: as a teacher would say it, and as JSON.
#include <algorithm>
#include <map>

#include "heed/check.h"
#include "trace/format.h"
#include "trace/json_writer.h"

namespace heed::explain {
namespace {

// "W_Q[1,2] = 3, expected 4": rounded as finely as it was written, and a little more.
std::string expected_text(const Finding& f) {
  NumberStyle style;
  const std::size_t point = f.written.find('.');
  const std::size_t end = std::min(f.written.find_first_of("eE%"), f.written.size());
  if (point < end) style.digits = std::max(style.digits, static_cast<int>(end - point));
  return format(f.expected, style);
}

std::string sentence(const Finding& f) {
  std::string text = f.where + " = " + f.written;
  if (f.mistake == "shape" || f.mistake == "spelled")
    text = f.where + " is written " + f.written;
  else
    text += ", expected " + expected_text(f);
  text += ".";
  if (!f.diagnosis.empty()) {
    std::string diagnosis = f.diagnosis;
    if (diagnosis[0] >= 'a' && diagnosis[0] <= 'z')
      diagnosis[0] = static_cast<char>(diagnosis[0] - 'a' + 'A');
    text += " " + diagnosis + ".";
  }
  if (f.mistake == "shape") return text;
  if (f.mistake == "spelled") return text + " A slip of the pen.";
  if (!f.later_used) return text;
  if (f.carried_on) return text + " The later steps use " + f.written + ": it is carried on.";
  return text + " The later steps use " + expected_text(f) + ": a slip of the pen.";
}

// "S 9 correct", step by step in the order written.
std::string tally(const CheckReport& report) {
  std::vector<std::string> order;
  std::map<std::string, std::map<Mark, std::size_t>> counts;
  for (const Finding& f : report.findings) {
    if (!counts.contains(f.id)) order.push_back(f.id);
    ++counts[f.id][f.mark];
  }
  std::size_t widest = 0;
  for (const std::string& id : order) widest = std::max(widest, id.size());
  std::string text;
  for (const std::string& id : order) {
    text += "  " + id + std::string(widest - id.size() + 2, ' ');
    std::string marks;
    for (const auto& [mark, count] : counts[id])
      marks +=
          (marks.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(name_of(mark));
    text += marks + "\n";
  }
  return text;
}

}  // namespace

std::string render_text(const Trace& trace, const CheckReport& report) {
  std::string text = trace.problem.title.empty() ? "" : trace.problem.title + "\n\n";
  text += tally(report) + "\n";
  if (report.passed()) return text + "All " + std::to_string(report.correct) + " correct.\n";
  bool first = true;
  std::string last;  // one mistake that explains many entries is told once
  for (const Finding& f : report.findings) {
    if (f.mark != Mark::wrong) continue;
    const std::string same = f.id + "/" + f.mistake + "/" + f.diagnosis;
    const bool told = !f.mistake.empty() && f.mistake != "spelled" && same == last;
    last = same;
    if (told) continue;
    text += (first ? "First wrong: " : "Also wrong: ") + sentence(f);
    if (f.line != 0) text += " (line " + std::to_string(f.line) + ")";
    text += "\n";
    first = false;
  }
  const auto tell = [&](Mark mark, const std::string& what) {
    std::string entries;
    std::size_t shown = 0;
    constexpr std::size_t kMost = 6;
    for (const Finding& f : report.findings)
      if (f.mark == mark && ++shown <= kMost) entries += (entries.empty() ? "" : ", ") + f.where;
    if (shown > kMost) entries += " and " + std::to_string(shown - kMost) + " more";
    if (shown != 0) text += what + ": " + entries + ".\n";
  };
  tell(Mark::carried, "Right, given the mistake before");
  tell(Mark::missing, "Left out");
  return text;
}

std::string to_json(const CheckReport& report) {
  const auto boolean = [](bool value) { return value ? "true" : "false"; };
  const auto one = [&](const Finding& f) {
    JsonObject json;
    json.add("mark", json_string(name_of(f.mark))).add("id", json_string(f.id));
    json.add("batch", std::to_string(f.batch)).add("head", std::to_string(f.head));
    json.add("row", std::to_string(f.row)).add("col", std::to_string(f.col));
    json.add("where", json_string(f.where)).add("written", json_string(f.written));
    json.add("expected", json_number(f.expected)).add("line", std::to_string(f.line));
    if (f.mark == Mark::wrong) {
      json.add("mistake", json_string(f.mistake)).add("diagnosis", json_string(f.diagnosis));
      json.add("later_used", boolean(f.later_used)).add("carried_on", boolean(f.carried_on));
      json.add("sentence", json_string(sentence(f)));
    }
    return json.text();
  };
  JsonObject json;
  json.add("passed", boolean(report.passed()));
  json.add("correct", std::to_string(report.correct)).add("wrong", std::to_string(report.wrong));
  json.add("carried", std::to_string(report.carried));
  json.add("missing", std::to_string(report.missing));
  json.add("findings", json_array(report.findings, one));
  return json.text();
}

}  // namespace heed::explain
