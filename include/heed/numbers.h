// Numbers as people read them: the one formatter behind every renderer and the page.
//
// Integers are bare, other numbers have `digits` decimals (fewer when all of a matrix need fewer),
// and all entries of a matrix share one format. What is shown is either the value itself (`exact`)
// or a rounding of it, and never a 0 for what is not 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heed::explain {

struct NumberStyle {
  int digits = 4;      // decimals
  bool full = false;   // 17 significant digits instead
  bool ascii = false;  // "-inf" and "-" instead of U+2212 and U+221E
};

// How the numbers of one matrix are written.
struct NumberFormat {
  enum class Kind : std::uint8_t { fixed, scientific, significant };
  Kind kind = Kind::fixed;
  int decimals = 0;
  bool ascii = false;
};

// The format that all of `values` share.
NumberFormat choose_format(std::span<const double> values, const NumberStyle& style);

std::string format(double value, const NumberFormat& format);

// A number on its own.
std::string format(double value, const NumberStyle& style);

// Whether the text that format() gives is the value and not a rounding of it. Differences of a few
// units in the last place of a double do not count: 0.1 + 0.2 is shown exactly by 0.3.
bool is_exact(double value, const NumberFormat& format);
bool is_exact(double value, const NumberStyle& style);

// What a cell that shows no number shows.
std::string masked_score(bool ascii);   // "−∞"
std::string masked_weight(bool ascii);  // "·"

// "1,048,576": counts in prose.
std::string with_commas(std::size_t count);

}  // namespace heed::explain
