#include "io/json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checks.h"
#include "io/text.h"

namespace heed::io {
namespace {

// How far the lexer has read. It reads one character past a number and none past anything else, so
// the line of the last character but one is the line of the token in both cases.
class Position {
 public:
  explicit Position(const char* begin) : counted_(begin), read_(begin) {}

  void advance(const char* to) { read_ = to; }
  std::uint32_t line() {
    if (read_ > counted_ + 1) {
      line_ += static_cast<std::uint32_t>(std::count(counted_, read_ - 1, '\n'));
      counted_ = read_ - 1;
    }
    return line_;
  }

 private:
  const char* counted_;
  const char* read_;
  std::uint32_t line_ = 1;
};

// Characters of the text, telling `position` as they are read.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    position_->advance(++at_);
    return *this;
  }
  TrackedIterator operator++(int) {
    TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Position* position_;
};

// Builds the values as the parser meets them; what is refused here is thrown through it.
class Handler {
 public:
  Handler(Position& position, std::string_view name) : position_(position), name_(name) {}

  bool null() { return add({}); }
  bool boolean(bool value) {
    JsonValue v;
    v.kind = JsonValue::Kind::boolean;
    v.boolean = value;
    return add(std::move(v));
  }
  bool number_integer(std::int64_t value) {
    return number(static_cast<double>(value), std::to_string(value));
  }
  bool number_unsigned(std::uint64_t value) {
    return number(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& written) { return number(value, written); }
  bool string(std::string& value) {
    JsonValue v;
    v.kind = JsonValue::Kind::string;
    v.text = std::move(value);
    return add(std::move(v));
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }

  bool start_object(std::size_t) { return open(JsonValue::Kind::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(JsonValue::Kind::array); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    const auto& members = open_.back().members;
    const bool twice = std::any_of(members.begin(), members.end(),
                                   [&](const auto& member) { return member.name == name; });
    require(members.size() < kMostMembers, name_, ": more than ", kMostMembers,
            " names in one object (line ", position_.line(), ")");
    require(!twice, name_, ": ", in_quotes(name), " is given twice (line ", position_.line(), ")");
    open_.back().members.push_back({name, {}});
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string what = e.what();
    what.erase(0, std::min(what.find("] "), what.size() - 2) + 2);
    const std::string_view lead = "parse error at ";
    if (what.starts_with(lead))
      what.erase(0, lead.size());
    else
      what = "line " + std::to_string(position_.line()) + ": " + what;
    // What was last read is the file's own text, and may be anything.
    const std::string_view quote = "last read: ";
    const std::size_t at = std::min(what.find(quote), what.size());
    const std::string read = at < what.size() ? what.substr(at + quote.size()) : "";
    std::string said = what.substr(0, at) + (read.empty() ? "" : std::string(quote));
    if (said.find("invalid literal") != std::string::npos)
      said.insert(said.find("invalid literal"),
                  "infinities and NaN are written \"inf\", \"-inf\", \"nan\" - ");
    fail(name_, ": ", said, printable(read));
  }

  JsonValue take() { return std::move(root_); }

 private:
  bool number(double value, std::string written) {
    JsonValue v;
    v.kind = JsonValue::Kind::number;
    v.number = value;
    v.text = std::move(written);
    return add(std::move(v));
  }

  void count() {
    require(++values_ <= kMostValues, name_, ": holds more than ", kMostValues, " values (line ",
            position_.line(), "); put large matrices into .npy files");
  }

  bool open(JsonValue::Kind kind) {
    count();
    require(open_.size() < kMostDepth, name_, ": nested more than ", kMostDepth, " deep (line ",
            position_.line(), ")");
    JsonValue v;
    v.kind = kind;
    v.line = position_.line();
    open_.push_back(std::move(v));
    return true;
  }

  bool close() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    place(std::move(value));
    return true;
  }

  bool add(JsonValue value) {
    count();
    value.line = position_.line();
    place(std::move(value));
    return true;
  }

  void place(JsonValue value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().kind == JsonValue::Kind::object)
      open_.back().members.back().value = std::move(value);
    else
      open_.back().items.push_back(std::move(value));
  }

  Position& position_;
  const std::string_view name_;
  std::size_t values_ = 0;
  std::vector<JsonValue> open_;
  JsonValue root_;
};

}  // namespace

std::string_view name_of(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null: return "null";
    case JsonValue::Kind::boolean: return "true or false";
    case JsonValue::Kind::number: return "a number";
    case JsonValue::Kind::string: return "a string";
    case JsonValue::Kind::array: return "a list";
    case JsonValue::Kind::object: return "an object";
  }
  return "?";
}

JsonValue parse_json(std::string_view text, std::string_view name) {
  Position position(text.data());
  Handler handler(position, name);
  const bool read = nlohmann::json::sax_parse(TrackedIterator(text.data(), &position),
                                              TrackedIterator(text.data() + text.size(), &position),
                                              &handler, nlohmann::detail::input_format_t::json,
                                              /*strict=*/true, /*ignore_comments=*/true);
  require(read, name, ": is not JSON");
  return handler.take();
}

std::string at_line(std::size_t line) {
  return line == 0 ? "" : " (line " + std::to_string(line) + ")";
}

}  // namespace heed::io
