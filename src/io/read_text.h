// A text file as a whole.
#pragma once

#include <filesystem>
#include <string>

namespace heed::io {

// "-" is standard input.
std::string read_text(const std::filesystem::path& path);

}  // namespace heed::io
