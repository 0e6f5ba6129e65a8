// What C++20 has and the standard library of Debian's emscripten (3.1.6) has not yet. Included
// ahead of every file of the WebAssembly build (cmake/wasm.cmake), and nowhere else.
#pragma once

#include <version>

#if defined(__cplusplus) && !defined(__cpp_lib_bit_cast)
#include <type_traits>

namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> &&
                is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
