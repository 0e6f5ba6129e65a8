// Figures as people read them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>

namespace heed::cli {

// "1.5 MB": three significant digits and a decimal prefix.
inline std::string with_prefix(double x, const std::string& unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  while (x >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    x /= 1000;
    ++prefix;
  }
  const int decimals = x >= 99.95 || prefix == 0 ? 0 : x >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", x, decimals, kPrefixes[prefix], unit);
}

}  // namespace heed::cli
