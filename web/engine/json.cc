#include "engine/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heed::web {
namespace {

// Bytes that are no UTF-8 pass: who decodes the answer shows them as U+FFFD.
void append_quoted(std::string& into, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto plain = [](char c) {
    return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
  };
  into += '"';
  if (std::all_of(text.begin(), text.end(), plain)) {  // numbers, and most labels
    into += text;
    into += '"';
    return;
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      into += '\\';
      into += c;
    } else if (byte < 0x20) {
      into += "\\u00";
      into += kHex[byte >> 4];
      into += kHex[byte & 15];
    } else {
      into += c;
    }
  }
  into += '"';
}

}  // namespace

Json::Json(double value) : text_("null") {
  if (!std::isfinite(value)) return;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  text_ = buffer;
}

Json::Json(std::string_view text) {
  append_quoted(text_, text);
}

Json::Json(const std::vector<std::string>& texts) {
  text_ = "[";
  for (const std::string& text : texts) {
    if (text_.size() > 1) text_ += ',';
    append_quoted(text_, text);
  }
  text_ += ']';
}

Json Json::raw(std::string text) {
  Json json;
  json.text_ = std::move(text);
  return json;
}

Object& Object::add(std::string_view key, const Json& value) {
  if (!text_.empty()) text_ += ',';
  append_quoted(text_, key);
  text_ += ':';
  text_ += value.text();
  return *this;
}

Object& Object::add_all(std::string_view object) {
  const std::size_t first = object.find('{') + 1, last = object.rfind('}');
  const std::string_view members = object.substr(first, last - first);
  if (!text_.empty() && !members.empty()) text_ += ',';
  text_ += members;
  return *this;
}

Array& Array::push(const Json& value) {
  if (!text_.empty()) text_ += ',';
  text_ += value.text();
  return *this;
}

}  // namespace heed::web
