#include "io/mask.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/checks.h"
#include "heed/io.h"
#include "io/text.h"

namespace heed::io {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

explain::Matrix mask_from(const Numbers& numbers, const std::string& name) {
  explain::Matrix mask = numbers.matrix();
  const auto& v = mask.values;
  const bool additive = std::count(v.begin(), v.end(), -kInf) > 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const bool fits = v[i] == 0 || v[i] == (additive ? -kInf : 1);
    require(fits, name, ": ", place_of(i, std::array{mask.rows, mask.cols}),
            additive ? " is neither 0 nor \"-inf\"" : " is neither 0 nor 1",
            "; numbers to be added to the scores belong in \"bias\"", at_line(numbers.line));
  }
  const bool only_zeros = std::all_of(v.begin(), v.end(), [](double x) { return x == 0; });
  require(!only_zeros || numbers.booleans, name,
          ": holds nothing but 0, which hides every key as a mask of 0 and 1, and none as one of 0 "
          "and \"-inf\"; write false or true",
          at_line(numbers.line));
  if (additive)
    for (double& x : mask.values) x = x == 0 ? 1 : 0;
  return mask;
}

std::size_t padding(const std::string& text, std::size_t line) {
  std::size_t length = 0;
  const char *first = text.data() + 4, *last = text.data() + text.size();
  const auto result = std::from_chars(first, last, length);
  require(result.ec == std::errc() && result.ptr == last, "mask: is \"", printable(text),
          "\", expected pad: and the number of keys to keep, such as pad:3", at_line(line));
  return length;
}

}  // namespace heed::io

namespace heed::explain {

void set_mask(Problem& problem, std::string_view mask) {
  problem.causal.reset();
  for (Sequence& s : problem.sequences) {
    s.mask = {};
    s.key_length.reset();
  }
  if (mask == "none") return;
  if (mask == "causal") {
    problem.causal = Causal::upper_left;
    return;
  }
  if (mask.starts_with("pad:")) {
    const std::size_t length = io::padding(std::string(mask), 0);
    for (Sequence& s : problem.sequences) s.key_length = length;
    return;
  }
  io::JsonValue value;
  if (std::filesystem::path(mask).extension() == ".json") {
    value = io::parse_json(io::read_text(mask), mask);
  } else {
    value.kind = io::JsonValue::Kind::string;
    value.text = mask;
  }
  const Matrix matrix = io::mask_from(io::read_numbers(value, "mask", 2, {}), "mask");
  for (Sequence& s : problem.sequences) s.mask = matrix;
}

}  // namespace heed::explain
