// JSON of requests and answers. Requests are read by nlohmann's parser; answers are written as text
// straight away, which keeps the engine that every reader downloads small.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heed::web {

using Request = nlohmann::json;

// A value that is JSON text already.
class Json {
 public:
  Json() : text_("null") {}
  Json(bool value) : text_(value ? "true" : "false") {}
  Json(std::size_t value) : text_(std::to_string(value)) {}
  Json(double value);  // NaN and infinities become null
  Json(std::string_view text);
  Json(const char* text) : Json(std::string_view(text)) {}
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const std::vector<std::string>& texts);

  // What another writer of JSON wrote.
  static Json raw(std::string text);

  const std::string& text() const { return text_; }

 protected:
  std::string text_;
};

// {"key": value, ...}
class Object {
 public:
  Object& add(std::string_view key, const Json& value);
  // Members of an object that another writer wrote.
  Object& add_all(std::string_view object);
  operator Json() const { return Json::raw("{" + text_ + "}"); }

 private:
  std::string text_;
};

// [value, ...]
class Array {
 public:
  Array& push(const Json& value);
  operator Json() const { return Json::raw("[" + text_ + "]"); }

 private:
  std::string text_;
};

template <class Range, class F>
Json array_of(const Range& range, F element) {
  Array array;
  for (const auto& item : range) array.push(element(item));
  return array;
}

}  // namespace heed::web
