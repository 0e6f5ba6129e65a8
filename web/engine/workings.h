// How a number comes about, as the page shows it: entries spelled out, softmax rows, products seen
// by row, by column and as outer products.
#pragma once

#include <cstddef>

#include "engine/json.h"
#include "engine/session.h"

namespace heed::web {

Json expansion_json(const Solved& solved, const explain::Node& node, std::size_t row,
                    std::size_t col);
Json softmax_json(const Solved& solved, std::size_t batch, std::size_t head, std::size_t row);
Json combination_json(const Solved& solved, const explain::Node& node, explain::View view,
                      std::size_t index);

}  // namespace heed::web
