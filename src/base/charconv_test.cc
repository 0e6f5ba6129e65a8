#include "base/charconv.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace heed {
namespace {

template <class... Format>
std::string standard(double value, Format... format) {
  char buffer[512];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr};
}

template <class... Format>
std::string ours(double value, Format... format) {
  char buffer[512];
  return {buffer, portable::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr};
}

// Every exponent, both neighbours of every power of two, and arbitrary bits.
std::vector<double> doubles() {
  std::vector<double> values = {0.0,
                                -0.0,
                                0.1,
                                0.3,
                                1.0 / 3,
                                2.0 / 3,
                                1e21,
                                1e22,
                                1e23,
                                5e-324,
                                9.5,
                                0.5,
                                123456,
                                100000,
                                1e5,
                                1e6,
                                1e15,
                                1e16,
                                9007199254740993.0,
                                2.2250738585072014e-308,
                                1.7976931348623157e308};
  for (int e = -1074; e <= 1023; ++e) {
    const double power = std::ldexp(1.0, e);
    values.insert(values.end(), {power, std::nextafter(power, 0.0), std::nextafter(power, 1e308)});
  }
  std::mt19937_64 random(1);
  while (values.size() < 30000) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
    values.push_back(std::round(std::ldexp(static_cast<double>(random() >> 11), -40)) / 1000);
  }
  return values;
}

TEST(Charconv, ShortestIsWhatTheStandardWrites) {
  for (const double value : doubles()) ASSERT_EQ(ours(value), standard(value));
  for (const double value : {std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_EQ(ours(value), standard(value));
}

TEST(Charconv, APrecisionIsWhatTheStandardWrites) {
  using enum std::chars_format;
  int precision = 0;
  for (const double value : doubles()) {
    precision = (precision + 1) % 18;
    ASSERT_EQ(ours(value, fixed, precision), standard(value, fixed, precision));
    ASSERT_EQ(ours(value, scientific, precision), standard(value, scientific, precision));
    ASSERT_EQ(ours(value, general, precision), standard(value, general, precision));
  }
}

TEST(Charconv, TooLittleRoomIsAnError) {
  char buffer[3];
  EXPECT_EQ(portable::to_chars(buffer, buffer + 3, 0.125).ec, std::errc::value_too_large);
}

TEST(Charconv, ReadsWhatTheStandardReads) {
  std::vector<std::string> texts = {"",       "-",     "+1",  " 1",   "0x10",   "1e5",   "1e+5",
                                    "1e",     "1.5.2", ".5",  "5.",   "-.5e-3", "1e400", "-1e400",
                                    "1e-400", "0e99",  "inf", "-inf", "nan",    "12abc", "e5",
                                    "--1",    "1-2",   ".",   "-.",   "-0",     "0.1",   "-0.0"};
  for (const double value : doubles()) texts.push_back(standard(value));
  for (const std::string& text : texts) {
    double mine = -7, theirs = -7;
    const char *first = text.data(), *last = first + text.size();
    const auto a = portable::from_chars(first, last, mine);
    const auto b = std::from_chars(first, last, theirs);
    ASSERT_EQ(a.ec, b.ec) << text;
    ASSERT_EQ(a.ptr - first, b.ptr - first) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(mine), std::bit_cast<std::uint64_t>(theirs)) << text;
  }
}

}  // namespace
}  // namespace heed
