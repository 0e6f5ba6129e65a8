// JSON as text: numbers in their shortest round-trip form, infinities and NaN as strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/problem.h"

namespace heed::explain {

std::string json_string(std::string_view text);
std::string json_number(double value);

template <class Range, class F>
std::string json_array(const Range& range, F element) {
  std::string text = "[";
  for (const auto& item : range) {
    if (text.size() > 1) text += ", ";
    text += element(item);
  }
  return text + "]";
}

std::string json_strings(const std::vector<std::string>& strings);
std::string json_numbers(const std::vector<double>& numbers);
std::string json_matrix(const Matrix& matrix);  // [[1, 0], [0, 1]]

// {"key": value, ...} on one line; values are JSON already.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view json);
  // The same, beginning a new line indented by that many spaces.
  JsonObject& add_line(std::string_view key, std::string_view json, std::size_t indent);
  std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace heed::explain
