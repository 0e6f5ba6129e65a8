#include "base/checks.h"

#include <limits>

namespace heed {

std::size_t checked_product(std::string_view what, std::span<const std::size_t> sizes) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
  for (const std::size_t size : sizes)
    if (size == 0) return 0;  // an empty axis makes the whole empty, however large the others
  std::size_t product = 1;
  for (const std::size_t size : sizes) {
    if (product > kMost / size) {
      std::ostringstream text;
      text << what << ": ";
      const char* separator = "";
      for (const std::size_t s : sizes) {
        text << separator << s;
        separator = " x ";
      }
      text << " elements do not fit in memory";
      throw Error(text.str());
    }
    product *= size;
  }
  return product;
}

}  // namespace heed
