// Masks as they are written in problem files and on the command line.
#pragma once

#include <cstddef>
#include <string>

#include "io/fields.h"

namespace heed::io {

// A mask as 1 (attend) and 0 (hidden), from booleans, from 0 and 1, or from 0 and -infinity.
explain::Matrix mask_from(const Numbers& numbers, const std::string& name);

// Of "pad:3": the number of keys to keep.
std::size_t padding(const std::string& text, std::size_t line);

}  // namespace heed::io
