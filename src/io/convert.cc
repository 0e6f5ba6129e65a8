// Element types into one another, each value rounded once; and what an array holds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/checks.h"
#include "heed/io.h"
#include "io/visit.h"

namespace heed::io {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// Halves become float, everything else stays what it is: a type C++ can compute with.
template <class T>
auto arithmetic(T x) {
  if constexpr (kIsHalf<T>) {
    return to_float(x);
  } else {
    return x;
  }
}

// Rounding first to a wider type and then to a narrower one is right only when the first step
// rounds to odd: an inexact result gets its last bit set, so that it can never look like a tie.
template <class Integer>
double to_double_odd(Integer x) {
  bool negative = false;
  if constexpr (std::is_signed_v<Integer>) negative = x < 0;
  auto magnitude = static_cast<std::uint64_t>(+x);
  if (negative) magnitude = 0 - magnitude;
  if (magnitude >> 53 != 0)
    magnitude =
        (magnitude & ~std::uint64_t{0x7ff}) | ((magnitude & 0x7ff) != 0 ? std::uint64_t{0x800} : 0);
  const auto exact = static_cast<double>(magnitude);
  return negative ? -exact : exact;
}
double to_double_odd(float x) {
  return x;
}
double to_double_odd(double x) {
  return x;
}

float to_float_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(nearest) == x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

template <class To, class From>
To convert_one(From from) {
  const auto x = arithmetic(from);
  if constexpr (std::is_same_v<To, f16>) {
    return to_f16(to_float_odd(to_double_odd(x)));
  } else if constexpr (std::is_same_v<To, bf16>) {
    return to_bf16(to_float_odd(to_double_odd(x)));
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void convert_all(const ArrayView& from, Array& to) {
  const auto source = from.as<From>();
  const auto target = to.as<To>();
  for (std::size_t i = 0; i < source.size(); ++i) {
    if constexpr (std::is_same_v<To, std::int64_t> && std::is_same_v<From, std::uint64_t>)
      require(source[i] <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}, "element ", i,
              " is ", source[i], ", more than i64 holds");
    target[i] = convert_one<To>(source[i]);
  }
}

template <class To>
constexpr bool kIsFloating = kIsHalf<To> || std::is_floating_point_v<To>;

template <class From, class To>
constexpr bool kConvertible = kIsFloating<To> ||
                              (std::is_same_v<To, std::int64_t> && std::is_integral_v<From>);

}  // namespace

Array convert(const ArrayView& from, DType to) {
  if (from.dtype == to) return Array(from);
  Array result(to, from.shape);
  visit_dtype(from.dtype, [&](auto source) {
    visit_dtype(to, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      if constexpr (kConvertible<From, To>) {
        convert_all<From, To>(from, result);
      } else {
        fail("convert: ", name_of(from.dtype), " does not become ", name_of(to));
      }
    });
  });
  return result;
}

namespace {

template <class T>
Summary summarise_as(std::span<const T> values) {
  Summary summary;
  for (const T value : values) {
    const auto x = static_cast<double>(arithmetic(value));
    if (std::isnan(x)) {
      ++summary.nan;
    } else if (std::isinf(x)) {
      ++(x > 0 ? summary.positive_infinity : summary.negative_infinity);
    } else {
      summary.min = summary.finite == 0 ? x : std::min(summary.min, x);
      summary.max = summary.finite == 0 ? x : std::max(summary.max, x);
      ++summary.finite;
    }
  }
  return summary;
}

}  // namespace

Summary summarise(const ArrayView& array) {
  return visit_dtype(array.dtype, [&](auto element) {
    return summarise_as<decltype(element)>(array.as<decltype(element)>());
  });
}

}  // namespace heed::io
