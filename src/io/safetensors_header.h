// The header of safetensors: 8 bytes of length, then JSON:
//   {"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0,
//   24]}}
// Offsets count from the end of the header.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heed/io.h"
#include "io/bytes.h"

namespace heed::io {

struct SafetensorsHeader {
  struct Tensor {
    TensorInfo info;
    std::size_t begin = 0, end = 0;  // in the data
  };
  std::vector<Tensor> tensors;  // in the order of the header
  std::map<std::string, std::string> metadata;
  Bytes data;  // everything behind the header
};

bool looks_like_safetensors(Bytes file);

// Checked: the tensors fill the data without gap or overlap, each of the size its shape needs.
SafetensorsHeader parse_safetensors_header(Bytes file, const std::string& label);

}  // namespace heed::io
