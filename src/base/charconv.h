// std::to_chars and std::from_chars of doubles, also where the standard library has none of its own
// (libc++ before 20, and the one that emscripten brings): the same text, digit for digit.
//
//   heed::to_chars(first, last, 0.1)                                      shortest: "0.1"
//   heed::to_chars(first, last, 2.0 / 3, std::chars_format::fixed, 4)     "0.6667"
//   heed::from_chars(first, last, value)
#pragma once

#include <charconv>
#include <version>

namespace heed {

// The stand-ins, declared everywhere so that tests compare them with the standard's where it has
// them. `general` without a precision is not offered.
namespace portable {
std::to_chars_result to_chars(char* first, char* last, double value);
std::to_chars_result to_chars(char* first, char* last, double value, std::chars_format format,
                              int precision);
std::from_chars_result from_chars(const char* first, const char* last, double& value);
}  // namespace portable

#if defined(__cpp_lib_to_chars)
using std::from_chars;
using std::to_chars;
#else
using portable::from_chars;
using portable::to_chars;
#endif

}  // namespace heed
