// Numbers in bytes of a stated order, read without trusting alignment.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace heed::io {

using Bytes = std::span<const std::byte>;

// Reverses the bytes of each element of `width` bytes.
inline void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  for (std::size_t start = 0; start + width <= bytes.size(); start += width)
    for (std::size_t i = 0; i < width / 2; ++i)
      std::swap(bytes[start + i], bytes[start + width - 1 - i]);
}

// The little-endian number at the front; the caller has checked that the bytes are there.
template <std::unsigned_integral T>
T load_le(Bytes bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>(value << 8 | std::to_integer<T>(bytes[i]));
  return value;
}

template <std::unsigned_integral T>
void store_le(std::byte* to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> 8 * i);
}

}  // namespace heed::io
