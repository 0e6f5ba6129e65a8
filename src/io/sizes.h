// Sizes of arrays, checked for overflow; `label` is what the error calls the array.
#pragma once

#include <cstddef>
#include <string_view>

#include "heed/io.h"

namespace heed::io {

std::size_t checked_elements(std::string_view label, const Shape& shape);
std::size_t checked_bytes(std::string_view label, DType dtype, const Shape& shape);

}  // namespace heed::io
