// The header of .npy: magic, version, length, and a Python dictionary literal such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "io/format.h"

namespace heed::io {

inline constexpr std::size_t kNpyPreamble = 12;  // enough to learn how long the header is

struct NpyHeader {
  Layout layout;
  std::size_t data_offset = 0;  // where the elements begin
  std::size_t data_bytes = 0;   // how many bytes they take; not yet known to be there
};

bool looks_like_npy(Bytes file);

// Where the elements begin, from the first kNpyPreamble bytes (or all, if there are fewer).
std::size_t npy_data_offset(Bytes preamble, std::string_view label);

// `file` holds at least the header; the elements need not be there yet.
NpyHeader parse_npy_header(Bytes file, std::string_view label, const ReadOptions& options);

// Throws unless `there` bytes are what the elements take.
void check_npy_size(const NpyHeader& header, std::size_t there, std::string_view label);

// Magic to final newline, a multiple of 64 bytes long, version 1.0.
std::string format_npy_header(DType dtype, const Shape& shape);

}  // namespace heed::io
