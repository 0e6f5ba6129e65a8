#include "trace/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/charconv.h"
#include "trace/width.h"

namespace heed::explain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLargestFixed = 1e9;  // from here on, positions are harder to read than exponents
constexpr double kLargestInteger = 1e15;  // integers that double and reader both still hold exactly
constexpr int kMostDigits = 17;

constexpr std::string_view kMinus = "−";  // U+2212
constexpr std::string_view kInfinity = "∞";

template <class... Format>
std::string chars(double value, Format... format) {
  std::array<char, 400> buffer;  // 1e308 in fixed notation with 17 decimals is the longest
  const auto result = to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...);
  return {buffer.data(), result.ptr};
}

bool is_integer(double value) {
  return std::abs(value) < kLargestInteger && value == std::trunc(value);
}

double parse(const std::string& text) {
  double value = 0;
  from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A few roundings of the sums that led to the value, no more.
bool almost_equal(double value, double shown) {
  return std::abs(value - shown) <= 8 * std::numeric_limits<double>::epsilon() * std::abs(value);
}

bool exact_with_decimals(double value, std::chars_format notation, int decimals) {
  if (!std::isfinite(value)) return true;
  return almost_equal(value, parse(chars(value, notation, decimals)));
}

std::string with_sign(bool negative, const std::string& magnitude, bool ascii) {
  return negative ? (ascii ? "-" : std::string(kMinus)) + magnitude : magnitude;
}

// The smallest number of decimals, up to `most`, that shows every value exactly; `most` if none.
int shared_decimals(std::span<const double> values, std::chars_format notation, int most) {
  int decimals = 0;
  for (const double value : values)
    while (decimals < most && !exact_with_decimals(value, notation, decimals)) ++decimals;
  return decimals;
}

}  // namespace

NumberFormat choose_format(std::span<const double> values, const NumberStyle& style) {
  NumberFormat result;
  result.ascii = style.ascii;
  double largest = 0;
  bool integers = true;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    largest = std::max(largest, std::abs(value));
    integers = integers && is_integer(value);
  }
  if (integers) return result;
  const int digits = std::clamp(style.digits, 0, kMostDigits);
  const double smallest_fixed = parse("1e-" + std::to_string(digits));
  if (style.full) {
    result.kind = NumberFormat::Kind::significant;
    result.decimals = kMostDigits;
  } else if (largest >= kLargestFixed || (largest > 0 && largest < smallest_fixed)) {
    result.kind = NumberFormat::Kind::scientific;
    result.decimals = shared_decimals(values, std::chars_format::scientific, digits);
  } else {
    result.decimals = shared_decimals(values, std::chars_format::fixed, digits);
  }
  return result;
}

std::string format(double value, const NumberFormat& format) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value))
    return with_sign(value < 0, format.ascii ? "inf" : std::string(kInfinity), format.ascii);
  const bool negative = value < 0;
  const double magnitude = std::abs(value);
  if (format.kind == NumberFormat::Kind::significant) {
    if (is_integer(magnitude))
      return with_sign(negative, chars(magnitude, std::chars_format::fixed, 0), format.ascii);
    return with_sign(negative, chars(magnitude, std::chars_format::general, format.decimals),
                     format.ascii);
  }
  if (format.kind == NumberFormat::Kind::scientific) {
    if (magnitude == 0) return "0";
    return with_sign(negative, chars(magnitude, std::chars_format::scientific, format.decimals),
                     format.ascii);
  }
  const std::string text = chars(magnitude, std::chars_format::fixed, format.decimals);
  if (magnitude != 0 && text.find_first_of("123456789") == text.npos) {  // not a rounded 0
    std::string least = chars(0.0, std::chars_format::fixed, format.decimals);
    least.back() = '1';
    return (negative ? ">" : "<") + with_sign(negative, least, format.ascii);
  }
  return with_sign(negative && magnitude != 0, text, format.ascii);
}

std::string format(double value, const NumberStyle& style) {
  return format(value, choose_format(std::span(&value, 1), style));
}

bool is_exact(double value, const NumberFormat& format) {
  if (!std::isfinite(value) || is_integer(value)) return true;
  switch (format.kind) {
    case NumberFormat::Kind::fixed:
      return exact_with_decimals(value, std::chars_format::fixed, format.decimals);
    case NumberFormat::Kind::scientific:
      return exact_with_decimals(value, std::chars_format::scientific, format.decimals);
    case NumberFormat::Kind::significant: break;
  }
  return shortest(std::abs(value)).size() < static_cast<std::size_t>(kMostDigits);
}

bool is_exact(double value, const NumberStyle& style) {
  return is_exact(value, choose_format(std::span(&value, 1), style));
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return "0";
  return chars(value);
}

std::string masked_score(bool ascii) {
  return format(-kInf, NumberFormat{.ascii = ascii});
}

std::string masked_weight(bool ascii) {
  return ascii ? "." : "·";
}

std::string with_commas(std::size_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string shape_text(std::size_t rows, std::size_t cols, bool ascii) {
  return std::to_string(rows) + (ascii ? "x" : "×") + std::to_string(cols);
}

std::vector<std::string> align_decimals(const std::vector<std::string>& cells) {
  const auto is_number = [](const std::string& cell) {
    return std::any_of(cell.begin(), cell.end(), [](char c) { return '0' <= c && c <= '9'; });
  };
  const bool scientific = std::any_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return cell.find('e') != std::string::npos;
  });
  // With exponents about, points below each other mean nothing.
  const auto point = [&](const std::string& cell) {
    return scientific ? cell.size() : std::min(cell.find('.'), cell.size());
  };
  std::size_t left = 0, right = 0, widest = 0;
  for (const std::string& cell : cells) {
    const std::string_view text = cell;
    widest = std::max(widest, display_width(text));
    if (!is_number(cell)) continue;
    left = std::max(left, display_width(text.substr(0, point(cell))));
    right = std::max(right, display_width(text.substr(point(cell))));
  }
  const std::size_t width = std::max(widest, left + right);
  std::vector<std::string> aligned;
  for (const std::string& cell : cells) {
    const std::size_t after =
        is_number(cell) ? right - display_width(std::string_view(cell).substr(point(cell))) : 0;
    aligned.push_back(pad_left(cell + std::string(after, ' '), width));
  }
  return aligned;
}

}  // namespace heed::explain
