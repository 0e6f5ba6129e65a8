#include "base/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace heed {
namespace {

TEST(AlignedBuffer, IsAlignedAndMoves) {
  AlignedBuffer<float> a(7);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % kAlignment, 0u);
  a[6] = 3.0f;
  AlignedBuffer<float> b(std::move(a));
  EXPECT_EQ(b.size(), 7u);
  EXPECT_EQ(b[6], 3.0f);
  AlignedBuffer<float> c;
  c = std::move(b);
  EXPECT_EQ(c.span().size(), 7u);
}

TEST(AlignedBuffer, RefusesASizeThatOverflows) {
  EXPECT_THROW(AlignedBuffer<double>(std::numeric_limits<std::size_t>::max() / 4), Error);
}

}  // namespace
}  // namespace heed
