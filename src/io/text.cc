#include "io/text.h"

#include <cstddef>

namespace heed::io {
namespace {

// Length of the UTF-8 sequence at the front, or 0 when there is none that may be shown: malformed,
// overlong, a surrogate, or a control character (those of one byte and U+0080..U+009F).
std::size_t shown_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  if (lead == 0xc2 && second < 0xa0) return 0;
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most_bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= most_bytes) return shown + "...";
    const std::size_t length = shown_length(text);
    if (length != 0) {
      shown += text.substr(0, length);
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    text.remove_prefix(length != 0 ? length : 1);
  }
  return shown;
}

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

}  // namespace heed::io
