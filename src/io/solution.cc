// Solution files: claimed values of any step, as they were written. docs/problem-files.md.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/charconv.h"
#include "base/checks.h"
#include "heed/check.h"
#include "io/fields.h"
#include "io/text.h"

namespace heed::explain {
namespace {

using io::at_line;
using io::JsonValue;
using Kind = io::JsonValue::Kind;

constexpr std::string_view kAbout[] = {"title", "comment", "steps", "solution"};
// What a step of the list may say beside its values. Counted from 0, as everything in JSON.
constexpr std::string_view kWhere[] = {"batch", "head", "row", "col", "of", "comment"};
// Quantities on the way that are no nodes of the trace.
constexpr std::string_view kBetween[] = {"root", "max", "shifted", "exp", "sum", "weighted"};

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// One unit of the last digit of "0.71" or "1.5e-3" is 0.01 or 1e-4; an integer has none.
double unit_of(std::string_view text) {
  const std::size_t e = text.find_first_of("eE"), point = text.find('.');
  int exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  } else if (point == std::string_view::npos) {
    return 0;
  }
  const std::size_t mantissa = std::min(e, text.size());
  const std::size_t decimals = point == std::string_view::npos ? 0 : mantissa - point - 1;
  return std::pow(10.0, exponent - static_cast<int>(decimals));
}

class Reader {
 public:
  Reader(const Trace& trace, std::string_view name) : trace_(trace), name_(name) {}

  Solution read(const JsonValue& root) {
    io::require_kind(root, Kind::object, std::string(name_));
    for (const auto& [key, value] : root.members) {
      if (key == "title")
        solution_.title = io::read_string(value, key);
      else if (key == "steps")
        list(value);
      else if (!is_one_of(key, kAbout))
        step(key, value, ClaimedStep{});
    }
    if (io::find(root, "steps") == nullptr) sort();
    require(!solution_.steps.empty(), name_,
            ": claims nothing; write a step such as \"S\": [[...]]");
    return std::move(solution_);
  }

 private:
  // The members of an object come in no order of their own: they are marked in that of the work.
  void sort() {
    std::stable_sort(solution_.steps.begin(), solution_.steps.end(),
                     [&](const ClaimedStep& a, const ClaimedStep& b) { return rank(a) < rank(b); });
  }

  // Where a step stands in the work; what is no node stands before the node it leads to.
  std::pair<std::size_t, std::size_t> rank(const ClaimedStep& step) const {
    const auto between = std::find(std::begin(kBetween), std::end(kBetween), step.id);
    const bool is_between = between != std::end(kBetween);
    const std::string_view leads_to = !is_between             ? std::string_view(step.id)
                                      : step.id == "root"     ? "Z"
                                      : step.id == "weighted" ? "O"
                                                              : "A";
    std::size_t position = 0;
    while (position < trace_.nodes.size() && trace_.nodes[position].id != leads_to) ++position;
    return {position, is_between ? static_cast<std::size_t>(between - std::begin(kBetween))
                                 : std::size(kBetween)};
  }

  void list(const JsonValue& steps) {
    io::require_kind(steps, Kind::array, "steps");
    for (const JsonValue& item : steps.items) {
      io::require_kind(item, Kind::object, "steps");
      ClaimedStep at;
      const JsonValue* claimed = nullptr;
      std::string id;
      for (const auto& [key, value] : item.members) {
        if (!is_one_of(key, kWhere)) {
          require(claimed == nullptr, "steps: an item claims both ", id, " and ",
                  io::in_quotes(key), at_line(value.line));
          claimed = &value;
          id = key;
        }
      }
      require(claimed != nullptr, "steps: an item claims nothing", at_line(item.line));
      const auto count = [&](std::string_view key, std::size_t& into) {
        if (const JsonValue* value = io::find(item, key))
          into = io::read_count(*value, id + ": " + std::string(key));
      };
      count("batch", at.batch);
      count("head", at.head);
      count("row", at.row);
      count("col", at.col);
      count("of", at.of);
      step(id, *claimed, at);
    }
  }

  // The size of the whole step that `id` names.
  std::pair<std::size_t, std::size_t> size_of(const ClaimedStep& step, std::size_t line) const {
    if (!is_one_of(step.id, kBetween)) {
      const Node* node = trace_.find(step.id, step.batch, step.head);
      if (node == nullptr) unknown(step, line);
      return {node->values.rows, node->values.cols};
    }
    const Node* weights = trace_.find("A", step.batch, step.head);
    require(weights != nullptr, step.id, ": there is no batch row ", step.batch, ", head ",
            step.head, at_line(line));
    const std::size_t n_q = weights->values.rows, n_k = weights->values.cols;
    if (step.id == "root") return {1, 1};
    if (step.id == "max" || step.id == "sum") return {n_q, 1};
    if (step.id != "weighted") return {n_q, n_k};
    require(step.of < n_q, "weighted: of is ", step.of, " but there are ", n_q, " rows of O",
            at_line(line));
    const Node* output = trace_.find("O", step.batch, step.head);
    require(output != nullptr, "weighted: this problem has no O", at_line(line));
    return {n_k, output->values.cols};
  }

  [[noreturn]] void unknown(const ClaimedStep& step, std::size_t line) const {
    std::string known;
    for (const Node& node : trace_.nodes)
      if (node.batch == 0 && node.head == 0) known += node.id + ", ";
    fail(name_, ": ", io::in_quotes(step.id), " of batch row ", step.batch, ", head ", step.head,
         " is no step of this problem; there are ", known,
         "and root, max, shifted, exp, sum, weighted", at_line(line));
  }

  void step(const std::string& id, const JsonValue& value, ClaimedStep step) {
    step.id = id;
    step.line = value.line;
    const auto [rows, cols] = size_of(step, value.line);
    if (value.kind == Kind::object) {
      shape(value, step);
    } else {
      values(value, step, cols);
      require(step.row + step.rows <= rows && step.col + step.cols <= cols, id, ": has ", step.rows,
              " rows and ", step.cols, " columns from row ", step.row, ", column ", step.col,
              ", expected at most ", rows, " and ", cols, at_line(value.line));
    }
    solution_.steps.push_back(std::move(step));
  }

  // {"shape": [5, 12]}
  void shape(const JsonValue& value, ClaimedStep& step) const {
    constexpr std::string_view kKeys[] = {"shape"};
    io::require_known_keys(value, kKeys, step.id);
    const JsonValue* claimed = io::find(value, "shape");
    require(claimed != nullptr && claimed->kind == Kind::array && claimed->items.size() == 2,
            step.id, ": a claimed shape is {\"shape\": [rows, columns]}", at_line(value.line));
    step.rows = io::read_count(claimed->items[0], step.id);
    step.cols = io::read_count(claimed->items[1], step.id);
  }

  // A number, a row or column of numbers, or rows; null for what is left out.
  void values(const JsonValue& value, ClaimedStep& step, std::size_t cols) const {
    if (value.kind != Kind::array) {
      step.rows = step.cols = 1;
      step.values = {claim(value, step.id)};
      return;
    }
    require(!value.items.empty(), step.id, ": is empty", at_line(value.line));
    const bool flat = std::none_of(value.items.begin(), value.items.end(),
                                   [](const JsonValue& v) { return v.kind == Kind::array; });
    if (flat) {
      const bool upright = cols == 1;  // "sum": [5.06, 7.2]: one per row
      step.rows = upright ? value.items.size() : 1;
      step.cols = upright ? 1 : value.items.size();
      for (const JsonValue& item : value.items) step.values.push_back(claim(item, step.id));
      return;
    }
    step.rows = value.items.size();
    for (const JsonValue& row : value.items)
      if (row.kind == Kind::array) step.cols = std::max(step.cols, row.items.size());
    for (std::size_t i = 0; i < step.rows; ++i) {
      const JsonValue& row = value.items[i];
      if (row.kind == Kind::null) {  // a row left out
        Claim missing;
        missing.line = row.line;
        step.values.insert(step.values.end(), step.cols, missing);
        continue;
      }
      require(row.kind == Kind::array && row.items.size() == step.cols, step.id, ": row ", i + 1,
              " has ", row.items.size(), " values, expected ", step.cols, at_line(row.line));
      for (const JsonValue& item : row.items) step.values.push_back(claim(item, step.id));
    }
  }

  // 0.71, "0.71", "19.8%", null, or {"value": -3, "spelled": "-1*2 + 0*0 + 1*(-1)"}.
  Claim claim(const JsonValue& value, const std::string& name) const {
    if (value.kind == Kind::object) {
      constexpr std::string_view kKeys[] = {"value", "spelled"};
      io::require_known_keys(value, kKeys, name);
      const JsonValue *written = io::find(value, "value"), *spelled = io::find(value, "spelled");
      require(written != nullptr && spelled != nullptr, name,
              ": a number with its working is {\"value\": ..., \"spelled\": \"...\"}",
              at_line(value.line));
      Claim result = claim(*written, name);
      result.spelled = io::read_string(*spelled, name + ": spelled");
      return result;
    }
    Claim result;
    result.line = value.line;
    if (value.kind == Kind::null || (value.kind == Kind::string && value.text.empty()))
      return result;
    result.text = value.text;
    JsonValue plain = value;
    const bool percent = value.kind == Kind::string && value.text.ends_with('%');
    if (percent) {
      plain.text.pop_back();
      while (plain.text.ends_with(' ')) plain.text.pop_back();
    }
    if (plain.kind == Kind::string && !plain.text.empty() &&
        (std::isdigit(static_cast<unsigned char>(plain.text.back())) != 0 ||
         plain.text.back() == '.')) {
      plain.kind = Kind::number;
      const char *first = plain.text.data(), *last = first + plain.text.size();
      const auto parsed = from_chars(first, last, plain.number);
      require(parsed.ec == std::errc() && parsed.ptr == last, name, ": ", io::in_quotes(value.text),
              " is no number", at_line(value.line));
    }
    result.value = io::read_number(plain, name);
    if (plain.kind == Kind::number) result.unit = unit_of(plain.text);
    if (percent) {
      result.value /= 100;
      result.unit = (result.unit == 0 ? 1 : result.unit) / 100;
    }
    return result;
  }

  const Trace& trace_;
  const std::string_view name_;
  Solution solution_;
};

}  // namespace

Solution parse_solution(std::string_view json, const Trace& trace, std::string_view name) {
  return Reader(trace, name).read(io::parse_json(json, name));
}

std::optional<Solution> solution_of_problem(std::string_view json, const Trace& trace,
                                            std::string_view name) {
  const JsonValue root = io::parse_json(json, name);
  const JsonValue* solution = io::find(root, "solution");
  if (solution == nullptr) return {};
  return Reader(trace, name).read(*solution);
}

}  // namespace heed::explain
