// Text that came out of a file, for messages.
#pragma once

#include <string>
#include <string_view>

#include "heed/io.h"

namespace heed::io {

// printable() between quotation marks.
std::string in_quotes(std::string_view text);

}  // namespace heed::io
