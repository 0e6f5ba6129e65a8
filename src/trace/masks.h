// What a problem hides keys with, in words: "causal mask", "padding mask", never just "mask".
#pragma once

#include <string>
#include <vector>

#include "heed/trace.h"

namespace heed::explain {

// All that apply to one sequence, in the order the operator applies them.
std::vector<std::string> mask_names(const Trace& trace, std::size_t batch);

// "causal mask and padding mask"
std::string join_masks(const std::vector<std::string>& names);

}  // namespace heed::explain
