#include "base/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "heed/error.h"

namespace heed {
namespace {

using ::testing::HasSubstr;

constexpr std::uintptr_t kSomewhere = 1 << 30;  // no element is read

Region at(std::ptrdiff_t byte, std::size_t element_bytes, std::array<std::size_t, 4> sizes,
          std::array<std::ptrdiff_t, 4> strides) {
  const auto address = kSomewhere + static_cast<std::uintptr_t>(byte);
  return {reinterpret_cast<const void*>(address), element_bytes, sizes, strides};
}

// Contiguous bytes [begin, end).
Region bytes(std::size_t begin, std::size_t end) {
  return at(static_cast<std::ptrdiff_t>(begin), 1, {1, 1, 1, end - begin}, {0, 0, 0, 1});
}

// Every byte of every element, one by one, and how many elements there are.
struct Enumerated {
  std::multiset<std::intptr_t> bytes;

  explicit Enumerated(const Region& r) {
    for (std::size_t n = 0; n < r.sizes[0] * r.sizes[1] * r.sizes[2] * r.sizes[3]; ++n) {
      auto address = reinterpret_cast<std::intptr_t>(r.data);
      std::size_t rest = n;
      for (std::size_t axis = 4; axis-- > 0; rest /= r.sizes[axis])
        address += static_cast<std::intptr_t>(rest % r.sizes[axis]) * r.strides[axis] *
                   static_cast<std::intptr_t>(r.element_bytes);
      for (std::size_t b = 0; b < r.element_bytes; ++b)
        bytes.insert(address + static_cast<std::intptr_t>(b));
    }
  }
  bool meets(const Enumerated& other) const {
    for (const std::intptr_t byte : bytes)
      if (other.bytes.count(byte) != 0) return true;
    return false;
  }
  bool meets_itself() const { return std::set(bytes.begin(), bytes.end()).size() != bytes.size(); }
};

TEST(Overlap, NeighboursTouchButDoNotOverlap) {
  EXPECT_FALSE(overlap(bytes(0, 16), bytes(16, 32)));
  EXPECT_FALSE(overlap(bytes(16, 32), bytes(0, 16)));
  EXPECT_TRUE(overlap(bytes(0, 17), bytes(16, 32)));
  EXPECT_TRUE(overlap(bytes(8, 9), bytes(0, 16)));
}

TEST(Overlap, PartsOfARowLieBetweenEachOther) {  // a projection that gives q, k, v and o in one row
  const auto part = [](std::ptrdiff_t n) {
    return at(16 * n, 4, {2, 1, 5, 4}, {5 * 16, 0, 16, 1});
  };
  for (std::ptrdiff_t a = 0; a < 4; ++a)
    for (std::ptrdiff_t b = 0; b < 4; ++b) EXPECT_EQ(overlap(part(a), part(b)), a == b);
}

TEST(Overlap, NothingOverlapsWhatIsEmpty) {
  EXPECT_FALSE(overlap(bytes(0, 0), bytes(0, 16)));
  EXPECT_FALSE(overlap(Region{}, Region{}));
  EXPECT_FALSE(overlaps_itself(at(0, 4, {2, 0, 2, 2}, {0, 0, 0, 0})));
}

TEST(Overlap, IsThatOfTheElementsOneByOne) {
  std::mt19937 random(1);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  int overlapping = 0, of_itself = 0;
  constexpr int kCases = 20000;
  for (int n = 0; n < kCases; ++n) {
    Region pair[2];
    for (Region& r : pair) {
      r = at(2048 + pick(-60, 60), std::size_t{1} << pick(0, 3), {}, {});
      for (std::size_t axis = 0; axis < 4; ++axis) {
        r.sizes[axis] = static_cast<std::size_t>(pick(1, 3));
        r.strides[axis] = pick(0, 3) == 0 ? pick(-2, 2) : pick(-25, 25);
      }
    }
    const Enumerated a(pair[0]), b(pair[1]);
    ASSERT_EQ(overlap(pair[0], pair[1]), a.meets(b)) << n;
    ASSERT_EQ(overlap(pair[1], pair[0]), a.meets(b)) << n;
    ASSERT_EQ(overlaps_itself(pair[0]), a.meets_itself()) << n;
    overlapping += a.meets(b);
    of_itself += a.meets_itself();
  }
  for (const int count : {overlapping, of_itself}) {  // both answers were asked for
    EXPECT_GT(count, kCases / 10);
    EXPECT_LT(count, kCases - kCases / 10);
  }
}

TEST(Overlap, LayoutsInUseAreToldApartAtOnce) {  // a million rows between those of another
  constexpr std::size_t kTokens = 1 << 20;
  const auto head = [](std::ptrdiff_t n) {
    return at(512 * n, 4, {1, 1, kTokens, 128}, {0, 0, 256, 1});
  };
  EXPECT_FALSE(overlap(head(0), head(1)));
  EXPECT_FALSE(overlaps_itself(head(0)));
  Region backwards =
      at(512 + 1024 * (std::ptrdiff_t{kTokens} - 1), 4, {1, 1, kTokens, 128}, {0, 0, -256, 1});
  EXPECT_FALSE(overlap(head(0), backwards));
  EXPECT_TRUE(overlap(head(1), backwards));
}

TEST(Overlap, TheStrideOfASingleElementDoesNotMatter) {
  constexpr std::ptrdiff_t kFar = std::numeric_limits<std::ptrdiff_t>::max();
  const Region a = at(0, 4, {1, 1, 1, 4}, {kFar, -kFar, kFar, 1});
  EXPECT_TRUE(overlap(a, bytes(15, 16)));
  EXPECT_FALSE(overlap(a, bytes(16, 17)));
  EXPECT_FALSE(overlaps_itself(a));
}

TEST(Overlap, SameElementsAreInTheSameOrder) {
  const Region a = at(0, 4, {1, 2, 3, 4}, {7, 12, 4, 1});
  Region b = a;
  b.strides[0] = 99;  // of an axis with one element
  EXPECT_TRUE(same_elements(a, b));
  b.strides[2] = -4;
  EXPECT_FALSE(same_elements(a, b));
  EXPECT_FALSE(same_elements(a, at(4, 4, a.sizes, a.strides)));
}

std::string refusal(std::initializer_list<NamedRegion> written,
                    std::initializer_list<NamedRegion> read) {
  try {
    require_apart("attention", written, read);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Overlap, ErrorsNameBothAndTheirDistance) {
  EXPECT_EQ(refusal({{"out", bytes(0, 16)}}, {{"query", bytes(16, 32)}, {"key", bytes(12, 40)}}),
            "attention: out shares memory with key, which begins 12 bytes after it");
  EXPECT_EQ(refusal({{"out", bytes(0, 16)}}, {{"query", bytes(0, 4)}}),
            "attention: out shares memory with query: both begin at the same place");
  EXPECT_EQ(refusal({{"out", bytes(16, 32)}, {"lse", bytes(20, 24)}}, {}),
            "attention: lse shares memory with out, which begins 4 bytes before it");
  EXPECT_THAT(refusal({{"out", at(0, 4, {1, 1, 3, 4}, {0, 0, 2, 1})}}, {}),
              HasSubstr("out has elements that share memory with each other"));
  EXPECT_EQ(refusal({{"out", bytes(0, 16)}, {"lse", bytes(16, 20)}}, {{"query", bytes(20, 32)}}),
            "accepted");
}

}  // namespace
}  // namespace heed
