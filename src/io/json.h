// JSON that remembers where it stood: every value knows its line, and every number how it was
// written ("0.70" is not "0.7"). Comments are allowed.
//
// Hostile input is refused while it is read: nesting past kMostDepth, more than kMostValues values
// or kMostMembers in one object, a key that comes twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::io {

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::uint32_t line = 0;  // where it begins, from 1
  double number = 0;
  std::string text;  // of a string; of a number, as written
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;  // in the order written
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

std::string_view name_of(JsonValue::Kind kind);  // "a number", "a list", ...

inline constexpr std::size_t kMostDepth = 12;
inline constexpr std::size_t kMostValues = 2'000'000;
inline constexpr std::size_t kMostMembers = 1000;  // of an object: each is compared with the others

// Throws heed::Error "<name>: line 3, column 5: ..." for what is not JSON.
JsonValue parse_json(std::string_view text, std::string_view name);

// " (line 7)"
std::string at_line(std::size_t line);

}  // namespace heed::io
