// The elements of .npy, between the file and memory.
#pragma once

#include <string_view>
#include <vector>

#include "io/npy_header.h"

namespace heed::io {

// The elements behind the header; throws unless exactly those bytes follow it.
Bytes npy_elements(Bytes file, const NpyHeader& header, std::string_view label);

// Whether the elements lie in the file as an ArrayView must have them.
bool usable_in_place(Bytes elements, DType dtype);
inline bool usable_in_place(Bytes elements, const NpyHeader& header) {
  return !header.swapped && !header.fortran_order && usable_in_place(elements, header.dtype);
}

// The elements as arrays are in memory: C order, this machine's byte order, booleans 0 or 1.
std::vector<std::byte> decode_elements(std::vector<std::byte> elements, const NpyHeader& header);

}  // namespace heed::io
