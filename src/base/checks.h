// Checks at the edge: overflow-safe sizes and errors that name both values.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "heed/error.h"

namespace heed {

// Throws heed::Error with the parts joined: fail("attention: query has head_dim ", 64, " but ...").
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

// Throws the same message unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail(parts...);
}

// The product of sizes; throws "<what>: 4294967296 x 4294967296 elements do not fit ..." when it
// would not fit in half the address space, so that products of two such sizes stay comparable.
std::size_t checked_product(std::string_view what, std::span<const std::size_t> sizes);
inline std::size_t checked_product(std::string_view what,
                                   std::initializer_list<std::size_t> sizes) {
  return checked_product(what, std::span(sizes.begin(), sizes.size()));
}

}  // namespace heed
