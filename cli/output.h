// Where a command's text goes: standard output, or a file that appears whole or not at all.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "heed/error.h"
#include "heed/io.h"

namespace heed::cli {

inline void write_output(const std::string& file, std::string_view text) {
  if (!file.empty()) {
    io::write_file(file, text);
    return;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw Error("standard output: cannot be written");
}

}  // namespace heed::cli
