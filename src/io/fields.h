// Reading the fields of a JSON object: keys that are known, numbers in nested lists or in files of
// tensors, and errors that name the spot.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/problem.h"
#include "io/json.h"

namespace heed::io {

// Nested lists that are regular: every list of one level has the same length.
struct Nested {
  std::vector<std::size_t> shape;
  std::vector<const JsonValue*> leaves;  // in order
  std::vector<std::size_t> lines;        // of the lists one level below the outermost
};
// Throws "W_K: row 2 has 3 values, expected 2 (line 7)" for ragged or empty lists, and for more
// than `most_axes` levels.
Nested flatten(const JsonValue& value, const std::string& name, std::size_t most_axes);

// Where leaf `index` stands: "row 2, column 1".
std::string place_of(std::size_t index, std::span<const std::size_t> shape);

// An array of numbers, however it was given.
struct Numbers {
  std::vector<std::size_t> shape;
  std::vector<double> values;
  std::size_t line = 0;
  std::vector<std::size_t> lines;  // of the parts along the first axis; empty from a file
  bool imported = false;           // from a file of tensors
  bool booleans = false;           // written true and false

  std::size_t axes() const { return shape.size(); }
  // Part `index` along the first axis.
  Numbers part(std::size_t index) const;
  // The last two axes as a matrix; of one axis, one row.
  explain::Matrix matrix() const;
};

// A list of numbers in JSON; or a string, which names a file of tensors in `folder`.
Numbers read_numbers(const JsonValue& value, const std::string& name, std::size_t most_axes,
                     const std::filesystem::path& folder);

// A number, or one of the strings "inf", "-inf", "nan" in their usual spellings.
double read_number(const JsonValue& value, const std::string& name, const std::string& place = {});
std::int64_t read_integer(const JsonValue& value, const std::string& name);
std::size_t read_count(const JsonValue& value, const std::string& name);
const std::string& read_string(const JsonValue& value, const std::string& name);
std::vector<std::string> read_strings(const JsonValue& value, const std::string& name);

void require_kind(const JsonValue& value, JsonValue::Kind kind, const std::string& name);

// The member with that key in any case ("W_Q" is "w_q"), or nullptr.
const JsonValue* find(const JsonValue& object, std::string_view key);

// Throws for a key that is none of `known`, naming the nearest that is.
void require_known_keys(const JsonValue& object, std::span<const std::string_view> known,
                        std::string_view where);

}  // namespace heed::io
