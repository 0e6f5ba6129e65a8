// Which memory a strided view reaches, and whether two views have a byte in common: exactly, so
// that parts of one buffer that lie between each other (q, k, v and out side by side in a row) are
// apart. Reads no element and allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "heed/view.h"

namespace heed {

struct Region {
  const void* data = nullptr;
  std::size_t element_bytes = 0;
  std::array<std::size_t, 4> sizes = {};
  std::array<std::ptrdiff_t, 4> strides = {};  // in elements, any
};
Region region(ConstTensorView tensor);
Region region(const ScoreView& scores);  // no data: empty
Region region(const RowView& rows,
              ConstTensorView tokens);  // one float for each token of every head

bool overlap(const Region& a, const Region& b);
// Whether they have the same elements in the same order.
bool same_elements(const Region& a, const Region& b);
// Whether two elements share a byte.
bool overlaps_itself(const Region& region);

// Throws "<what>: out shares memory with key, ..." unless each of `written` lies apart from itself,
// from all of `read` and from the others of `written`.
struct NamedRegion {
  std::string_view name;
  Region region;
};
void require_apart(std::string_view what, std::initializer_list<NamedRegion> written,
                   std::initializer_list<NamedRegion> read);

}  // namespace heed
