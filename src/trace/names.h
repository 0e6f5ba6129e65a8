// What matrices are called in messages: "W_K of head 2", "X of batch row 3".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heed::explain {

std::string head_name(std::string_view id, std::size_t head, std::size_t heads);
std::string batch_name(std::string_view id, std::size_t batch, std::size_t batches);

}  // namespace heed::explain
