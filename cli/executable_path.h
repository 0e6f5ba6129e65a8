// Where this program is on the disk; empty where the system does not tell.
#pragma once

#include <filesystem>

namespace heed::cli {

std::filesystem::path executable_path();

}  // namespace heed::cli
