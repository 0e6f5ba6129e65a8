#include "base/charconv.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace heed::portable {
namespace {

constexpr int kMostDigits = 17;  // that many always read back as the same double

// printf and strtod follow the program's locale; numbers in files do not.
char decimal_point() {
  return *std::localeconv()->decimal_point;
}

std::string print(const char* pattern, int precision, double value) {
  std::array<char, 512> buffer;  // longer than 1e308 in fixed notation with 17 decimals
  std::string text;
  const int size = std::snprintf(buffer.data(), buffer.size(), pattern, precision, value);
  if (static_cast<std::size_t>(size) < buffer.size()) {
    text.assign(buffer.data(), static_cast<std::size_t>(size));
  } else {
    text.resize(static_cast<std::size_t>(size) + 1);
    std::snprintf(text.data(), text.size(), pattern, precision, value);
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), decimal_point(), '.');
  return text;
}

double parse(std::string text) {
  std::replace(text.begin(), text.end(), '.', decimal_point());
  return std::strtod(text.c_str(), nullptr);
}

// value = 0.d1 d2 d3 ... * 10^exponent
struct Decimal {
  std::string digits;
  int exponent = 0;
};

std::string scientific(const Decimal& d) {
  std::string text = d.digits.substr(0, 1);
  if (d.digits.size() > 1) text.append(".").append(d.digits, 1);
  const int e = d.exponent - 1;
  const std::string magnitude = std::to_string(std::abs(e));
  return text + (e < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
}

std::string fixed(const Decimal& d) {
  const int n = static_cast<int>(d.digits.size());
  std::string text = d.digits;
  if (d.exponent >= n) text.append(static_cast<std::size_t>(d.exponent - n), '0');
  if (d.exponent > 0 && d.exponent < n) text.insert(static_cast<std::size_t>(d.exponent), 1, '.');
  if (d.exponent <= 0) {
    text.insert(0, static_cast<std::size_t>(2 - d.exponent), '0');
    text[1] = '.';
  }
  return text;
}

Decimal round_to(double magnitude, int digits) {
  const std::string text = print("%.*e", digits - 1, magnitude);
  const std::size_t e = text.find('e');
  Decimal d{text.substr(0, e), std::atoi(text.c_str() + e + 1) + 1};
  d.digits.erase(std::remove(d.digits.begin(), d.digits.end(), '.'), d.digits.end());
  return d;
}

// The next decimal of as many digits. Below a power of two doubles lie twice as close as above it,
// so the nearest decimal may read back as the neighbour while the next one up reads back right.
Decimal next_up(Decimal d) {
  std::size_t at = d.digits.size();
  while (at > 0 && d.digits[at - 1] == '9') d.digits[--at] = '0';
  if (at > 0) {
    ++d.digits[at - 1];
  } else {
    d.digits.front() = '1';  // 999 becomes 100, one place up
    ++d.exponent;
  }
  return d;
}

// A decimal of so many digits that reads back as this very double, where there is one.
std::optional<Decimal> reading_back(double magnitude, int digits) {
  const Decimal nearest = round_to(magnitude, digits);
  if (parse(scientific(nearest)) == magnitude) return nearest;
  int exponent;
  if (std::frexp(magnitude, &exponent) != 0.5) return std::nullopt;  // no power of two
  const Decimal above = next_up(nearest);
  if (parse(scientific(above)) == magnitude) return above;
  return std::nullopt;
}

Decimal without_last_zeros(Decimal d) {
  d.digits.erase(std::max<std::size_t>(d.digits.find_last_not_of('0') + 1, 1));
  return d;
}

Decimal shortest_digits(double magnitude) {
  int digits = 1;
  // Decimals of 15 digits lie further apart than doubles, but for the subnormal ones: no two of
  // them read back as the same double, so the one that does is the shortest with its zeros off.
  // Printing and parsing are slow where the standard library has no conversion of its own.
  if (std::isnormal(magnitude)) {
    if (const auto exact = reading_back(magnitude, std::numeric_limits<double>::digits10))
      return without_last_zeros(*exact);
    digits = std::numeric_limits<double>::digits10 + 1;
  }
  for (; digits < kMostDigits; ++digits)
    if (const auto decimal = reading_back(magnitude, digits)) return *decimal;
  return round_to(magnitude, kMostDigits);
}

std::to_chars_result put(char* first, char* last, std::string_view text) {
  if (static_cast<std::size_t>(last - first) < text.size())
    return {last, std::errc::value_too_large};
  return {std::copy(text.begin(), text.end(), first), std::errc()};
}

// Printing and parsing through the C library takes microseconds where long double is emulated, as
// in WebAssembly. The two conversions below do what most numbers need in whole numbers or exact
// doubles; whatever they do not cover exactly, they leave to the C library.

// magnitude with so many decimals, halves to even. Covers what has no bit below 2^-60, among it
// everything from 2^-8 up to 2^53.
std::optional<std::string> fixed_in_integers(double magnitude, int decimals) {
  constexpr int kFractionBits = 60;  // ten times a fraction still fits in 64 bits
  constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;
  if (!(magnitude < 0x1p53) || decimals < 0 || decimals > kMostDigits) return std::nullopt;
  const double scaled = std::ldexp(magnitude - std::trunc(magnitude), kFractionBits);
  if (scaled != std::trunc(scaled)) return std::nullopt;
  auto whole = static_cast<std::uint64_t>(magnitude);
  auto rest = static_cast<std::uint64_t>(scaled);
  std::uint64_t digits = 0, power = 1;  // the decimals as a number, and 10^decimals
  for (int k = 0; k < decimals; ++k) {
    rest *= 10;
    digits = 10 * digits + rest / kOne;
    rest %= kOne;
    power *= 10;
  }
  const bool odd = (decimals > 0 ? digits : whole) % 2 == 1;
  if (rest > kOne / 2 || (rest == kOne / 2 && odd)) ++digits;
  whole += digits / power;
  digits %= power;
  std::string text = std::to_string(whole);
  if (decimals == 0) return text;
  const std::string fraction = std::to_string(digits);
  return text + '.' + std::string(static_cast<std::size_t>(decimals) - fraction.size(), '0') +
         fraction;
}

// Digits with at most one point and no exponent: a whole number below 2^53 divided by a power of
// ten that a double holds, so that the one rounding is that of the division.
std::optional<double> parse_exactly(std::string_view text) {
  constexpr int kMostDecimals = 22;  // 10^22 is the last power of ten that is a double
  if (text.find_first_of("0123456789") == text.npos) return std::nullopt;
  double power = 1;
  std::uint64_t whole = 0;
  int decimals = -1;
  for (const char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (std::isdigit(static_cast<unsigned char>(c)) &&
               whole < (std::uint64_t{1} << 53) / 16) {
      whole = 10 * whole + static_cast<std::uint64_t>(c - '0');
      if (decimals < 0) continue;
      if (++decimals > kMostDecimals) return std::nullopt;
      power *= 10;
    } else {
      return std::nullopt;
    }
  }
  return static_cast<double>(whole) / power;
}

std::string not_finite(double value) {
  return std::string(std::signbit(value) ? "-" : "") + (std::isnan(value) ? "nan" : "inf");
}

}  // namespace

std::to_chars_result to_chars(char* first, char* last, double value) {
  if (!std::isfinite(value)) return put(first, last, not_finite(value));
  const std::string sign = std::signbit(value) ? "-" : "";
  if (value == 0) return put(first, last, sign + "0");
  const double magnitude = std::abs(value);
  const Decimal digits = shortest_digits(magnitude);
  const std::string with_exponent = scientific(digits);
  std::string plain = fixed(digits);
  if (plain.size() > with_exponent.size()) return put(first, last, sign + with_exponent);
  // An integer that needs no exponent is written with its own digits, not with zeros.
  if (digits.exponent >= static_cast<int>(digits.digits.size()))
    plain = print("%.*f", 0, magnitude);
  return put(first, last, sign + plain);
}

std::to_chars_result to_chars(char* first, char* last, double value, std::chars_format format,
                              int precision) {
  if (!std::isfinite(value)) return put(first, last, not_finite(value));
  if (format == std::chars_format::fixed)
    if (const auto text = fixed_in_integers(std::abs(value), precision))
      return put(first, last, (std::signbit(value) ? "-" : "") + *text);
  const char* pattern = format == std::chars_format::fixed        ? "%.*f"
                        : format == std::chars_format::scientific ? "%.*e"
                                                                  : "%.*g";
  return put(first, last, print(pattern, precision, value));
}

std::from_chars_result from_chars(const char* first, const char* last, double& value) {
  const std::string_view text(first, static_cast<std::size_t>(last - first));
  // strtod also takes what from_chars does not: white space, a plus sign, hexadecimal digits.
  const std::string_view magnitude = text.substr(text.starts_with('-') ? 1 : 0);
  const bool number =
      !magnitude.empty() &&
      (std::isdigit(static_cast<unsigned char>(magnitude[0])) || magnitude[0] == '.');
  const bool word = magnitude.starts_with("inf") || magnitude.starts_with("INF") ||
                    magnitude.starts_with("nan") || magnitude.starts_with("NAN");
  if (!number && !word) return {first, std::errc::invalid_argument};
  if (number)
    if (const auto exact = parse_exactly(magnitude)) {
      value = magnitude.size() < text.size() ? -*exact : *exact;
      return {last, std::errc()};
    }
  std::string copy(text.substr(0, number ? text.find_first_not_of("0123456789.eE+-") : text.npos));
  std::replace(copy.begin(), copy.end(), '.', decimal_point());
  char* end = nullptr;
  const double parsed = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return {first, std::errc::invalid_argument};
  const char* stop = first + (end - copy.c_str());
  const bool overflow = std::isinf(parsed) && !word;
  const bool underflow =
      parsed == 0 &&
      magnitude.substr(0, static_cast<std::size_t>(end - copy.c_str())).find_first_of("123456789") <
          magnitude.find_first_of("eE");
  if (overflow || underflow) return {stop, std::errc::result_out_of_range};
  value = parsed;
  return {stop, std::errc()};
}

}  // namespace heed::portable
