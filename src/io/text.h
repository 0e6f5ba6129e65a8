// Text that came out of a file, made safe to show in a message or on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace heed::io {

// Control characters and bytes that are not UTF-8 become \xNN; anything past 80 bytes becomes
// "...".
std::string printable(std::string_view text);

// The same between quotation marks.
std::string in_quotes(std::string_view text);

}  // namespace heed::io
