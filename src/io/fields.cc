#include "io/fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/checks.h"
#include "heed/io.h"
#include "io/text.h"

namespace heed::io {
namespace {

using Kind = JsonValue::Kind;

std::string in_quotation(std::string_view text) {
  return "\"" + printable(text) + "\"";
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// What a list on `level` of `axes` levels is called, counted from 1: "row 2", "matrix 1, row 2".
std::string list_name(std::span<const std::size_t> path, std::size_t axes) {
  std::string name;
  for (std::size_t level = 0; level < path.size(); ++level) {
    const std::size_t below = axes - level;  // axes of the list that path[level] stands in
    name += name.empty() ? "" : ", ";
    name += below == 1   ? (axes == 1 ? "value " : "column ")
            : below == 2 ? "row "
            : below == 3 ? "matrix "
                         : "batch row ";
    name += std::to_string(path[level] + 1);
  }
  return name;
}

// "1 row", "3 values"
std::string count_of(std::size_t count, std::size_t axes_below) {
  const bool one = count == 1;
  return std::to_string(count) + (axes_below == 1   ? (one ? " value" : " values")
                                  : axes_below == 2 ? (one ? " row" : " rows")
                                                    : (one ? " matrix" : " matrices"));
}

class Flattener {
 public:
  Flattener(const std::string& name, std::size_t axes) : name_(name) {
    nested_.shape.assign(axes, 0);
  }

  Nested run(const JsonValue& value) {
    list(value, 0);
    return std::move(nested_);
  }

 private:
  std::size_t axes() const { return nested_.shape.size(); }

  std::string spot() const {
    return path_.empty() ? name_ + ":" : name_ + ": " + list_name(path_, axes());
  }

  void list(const JsonValue& value, std::size_t level) {
    const std::size_t below = axes() - level;
    std::size_t& size = nested_.shape[level];
    require(value.kind == Kind::array, spot(), " is ", name_of(value.kind), ", expected a list",
            size == 0 ? "" : " of " + count_of(size, below), at_line(value.line));
    require(!value.items.empty(), spot(), " is empty", at_line(value.line));
    if (size == 0) size = value.items.size();
    require(value.items.size() == size, spot(), " has ", count_of(value.items.size(), below),
            ", expected ", size, at_line(value.line));
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      path_.push_back(i);
      if (level == 0) nested_.lines.push_back(value.items[i].line);
      if (below > 1)
        list(value.items[i], level + 1);
      else
        leaf(value.items[i]);
      path_.pop_back();
    }
  }

  void leaf(const JsonValue& value) {
    // There are many leaves: what is said of one is put into words only when it is wrong.
    if (value.kind == Kind::array || value.kind == Kind::object)
      fail(spot(), " is ", name_of(value.kind), ", expected a number", at_line(value.line));
    nested_.leaves.push_back(&value);
  }

  const std::string& name_;
  Nested nested_;
  std::vector<std::size_t> path_;
};

// Edit distance, for suggestions.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

Numbers read_tensor(const JsonValue& value, const std::string& name, std::size_t most_axes,
                    const std::filesystem::path& folder) {
  const std::string path = (folder / value.text).string();
  try {
    const Array array = convert(read(path), DType::f64);
    require(array.shape.size() >= 1 && array.shape.size() <= most_axes, path, ": has ",
            array.shape.size(), " axes, expected 1 to ", most_axes);
    require(array.size() > 0, path, ": is empty");
    const auto values = array.as<double>();
    return {array.shape, {values.begin(), values.end()}, value.line, {}, /*imported=*/true};
  } catch (const Error& e) {
    fail(name, ": ", e.what(), at_line(value.line));
  }
}

}  // namespace

Nested flatten(const JsonValue& value, const std::string& name, std::size_t most_axes) {
  std::size_t axes = 0;
  for (const JsonValue* v = &value; v->kind == Kind::array;
       v = v->items.empty() ? nullptr : &v->items.front()) {
    ++axes;
    if (v->items.empty()) break;
  }
  require(axes > 0, name, ": is ", name_of(value.kind), ", expected a list of numbers",
          at_line(value.line));
  require(axes <= most_axes, name, ": is nested ", axes, " deep, expected at most ", most_axes,
          at_line(value.line));
  return Flattener(name, axes).run(value);
}

std::string place_of(std::size_t index, std::span<const std::size_t> shape) {
  std::vector<std::size_t> path(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis])
    path[axis] = index % shape[axis];
  return list_name(path, shape.size());
}

Numbers Numbers::part(std::size_t index) const {
  Numbers p;
  p.shape.assign(shape.begin() + 1, shape.end());
  std::size_t size = 1;
  for (const std::size_t s : p.shape) size *= s;
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  p.values.assign(first, first + static_cast<std::ptrdiff_t>(size));
  p.line = lines.empty() ? line : lines[index];
  p.imported = imported;
  p.booleans = booleans;
  return p;
}

explain::Matrix Numbers::matrix() const {
  if (axes() == 1) return {1, shape[0], values};
  return {shape[axes() - 2], shape[axes() - 1], values};
}

Numbers read_numbers(const JsonValue& value, const std::string& name, std::size_t most_axes,
                     const std::filesystem::path& folder) {
  if (value.kind == Kind::string) return read_tensor(value, name, most_axes, folder);
  const Nested nested = flatten(value, name, most_axes);
  Numbers numbers{nested.shape, {}, value.line, nested.lines};
  numbers.booleans = nested.leaves.front()->kind == Kind::boolean;
  for (std::size_t i = 0; i < nested.leaves.size(); ++i) {
    const JsonValue& leaf = *nested.leaves[i];
    const auto place = [&] { return place_of(i, nested.shape); };
    if ((leaf.kind == Kind::boolean) != numbers.booleans)
      fail(name, ": ", place(), " is ", name_of(leaf.kind), " but the first is ",
           name_of(nested.leaves.front()->kind), at_line(leaf.line));
    if (numbers.booleans)
      numbers.values.push_back(leaf.boolean ? 1 : 0);
    else
      numbers.values.push_back(leaf.kind == Kind::number ? leaf.number
                                                         : read_number(leaf, name, place()));
  }
  return numbers;
}

double read_number(const JsonValue& value, const std::string& name, const std::string& place) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (value.kind == Kind::number) return value.number;
  if (value.kind == Kind::string) {
    const std::string text = lower(value.text);
    for (const std::string_view inf : {"inf", "+inf", "infinity", "+infinity", "∞"})
      if (text == inf) return kInf;
    for (const std::string_view inf : {"-inf", "-infinity", "-∞", "−∞", "−inf"})
      if (text == inf) return -kInf;
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  fail(name, ": ", place.empty() ? "" : place + " ", "is ",
       value.kind == Kind::string ? in_quotation(value.text) : std::string(name_of(value.kind)),
       ", expected a number", at_line(value.line));
}

std::int64_t read_integer(const JsonValue& value, const std::string& name) {
  constexpr double kMost = 9007199254740992.0;  // 2^53: every integer below is a double
  require(value.kind == Kind::number && std::abs(value.number) <= kMost &&
              value.number == std::trunc(value.number),
          name, ": is ", value.kind == Kind::number ? value.text : std::string(name_of(value.kind)),
          ", expected a whole number", at_line(value.line));
  return static_cast<std::int64_t>(value.number);
}

std::size_t read_count(const JsonValue& value, const std::string& name) {
  const std::int64_t count = read_integer(value, name);
  require(count >= 0, name, ": is ", count, ", expected at least 0", at_line(value.line));
  return static_cast<std::size_t>(count);
}

const std::string& read_string(const JsonValue& value, const std::string& name) {
  require_kind(value, Kind::string, name);
  return value.text;
}

std::vector<std::string> read_strings(const JsonValue& value, const std::string& name) {
  require_kind(value, Kind::array, name);
  require(!value.items.empty(), name, ": is empty", at_line(value.line));
  std::vector<std::string> strings;
  for (const JsonValue& item : value.items) {
    require(item.kind == Kind::string, name, ": entry ", strings.size() + 1, " is ",
            name_of(item.kind), ", expected a string", at_line(item.line));
    strings.push_back(item.text);
  }
  return strings;
}

void require_kind(const JsonValue& value, JsonValue::Kind kind, const std::string& name) {
  require(value.kind == kind, name, ": is ", name_of(value.kind), ", expected ", name_of(kind),
          at_line(value.line));
}

const JsonValue* find(const JsonValue& object, std::string_view key) {
  for (const auto& [name, value] : object.members)
    if (lower(name) == key) return &value;
  return nullptr;
}

void require_known_keys(const JsonValue& object, std::span<const std::string_view> known,
                        std::string_view where) {
  for (const auto& [name, value] : object.members) {
    const std::string key = lower(name);
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest =
        *std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
          return distance(key, a) < distance(key, b);
        });
    const bool close = distance(key, nearest) <= std::max<std::size_t>(2, key.size() / 3);
    fail(where, ": there is no key ", in_quotation(name),
         close ? "; did you mean \"" + std::string(nearest) + "\"?" : "", at_line(value.line));
  }
}

}  // namespace heed::io
