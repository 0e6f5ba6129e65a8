#include "trace/json_writer.h"

#include <cmath>

#include "trace/format.h"
#include "trace/width.h"

namespace heed::explain {

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string json = "\"";
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_code_point(text);
    switch (c) {
      case U'"': json += "\\\""; break;
      case U'\\': json += "\\\\"; break;
      case U'\n': json += "\\n"; break;
      case U'\r': json += "\\r"; break;
      case U'\t': json += "\\t"; break;
      default:
        if (c < 0x20 || c == 0x7f)
          json += {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
        else if (c == 0xfffd)
          json += "\xef\xbf\xbd";  // also where the bytes were no UTF-8
        else
          json += before.substr(0, before.size() - text.size());
    }
  }
  return json + "\"";
}

std::string json_number(double value) {
  return std::isfinite(value) ? shortest(value) : json_string(shortest(value));
}

std::string json_strings(const std::vector<std::string>& strings) {
  return json_array(strings, [](const std::string& s) { return json_string(s); });
}

std::string json_numbers(const std::vector<double>& numbers) {
  return json_array(numbers, json_number);
}

std::string json_matrix(const Matrix& matrix) {
  std::string text = "[";
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    text += i > 0 ? ", [" : "[";
    for (std::size_t j = 0; j < matrix.cols; ++j) {
      if (j > 0) text += ", ";
      text += json_number(matrix(i, j));
    }
    text += "]";
  }
  return text + "]";
}

JsonObject& JsonObject::add(std::string_view key, std::string_view json) {
  if (text_.size() > 1) text_ += ", ";
  text_ += json_string(key);
  text_ += ": ";
  text_ += json;
  return *this;
}

JsonObject& JsonObject::add_line(std::string_view key, std::string_view json, std::size_t indent) {
  if (text_.size() > 1) text_ += ",";
  text_ += "\n" + std::string(indent, ' ') + json_string(key) + ": ";
  text_ += json;
  return *this;
}

}  // namespace heed::explain
