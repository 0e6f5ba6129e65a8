#include <cmath>
#include <limits>

#include "io/test_support.h"
#include "io/text.h"

namespace heed::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr auto kMost = std::numeric_limits<std::size_t>::max();

TEST(Array, ShapesReadAsNumPyWritesThem) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{5}), "(5,)");
  EXPECT_EQ(to_string(Shape{2, 3}), "(2, 3)");
}

TEST(Array, CountsElementsOrRefuses) {
  EXPECT_EQ(element_count({}), 1u);
  EXPECT_EQ(element_count({2, 0, 3}), 0u);
  EXPECT_EQ(element_count({2, 3}), 6u);
  EXPECT_THROW(element_count({kMost, 2}), Error);
  EXPECT_THROW(element_count({0, kMost, kMost}), Error);  // strides would overflow
  EXPECT_THROW(Array(DType::f64, {kMost / 4}), Error);
}

TEST(Array, HoldsWhatItIsGiven) {
  Array a = array_of<float>({2, 2}, {1, 2, 3, 4});
  a.as<float>()[3] = 5;
  EXPECT_THAT(std::as_const(a).as<float>(), ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(a.size(), 4u);
  EXPECT_THAT(Array(DType::i32, {3}).as<std::int32_t>(), ElementsAre(0, 0, 0));
  EXPECT_EQ(error_of([&] { a.as<double>(); }), "array: holds f32 but was read as f64");
  EXPECT_EQ(error_of([] {
              array_of<float>({3}, {1, 2});
            }),
            "array: shape (3,) of f32 needs 12 bytes but 8 are given");
}

TEST(Convert, EveryTypeBecomesEveryFloatingType) {
  for (const DType from : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8, DType::i16,
                           DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64}) {
    const bool whole = from >= DType::i8;
    const Array source = whole ? Array(from, {1}) : convert(array_of<float>({1}, {-2.5f}), from);
    for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      const Array target = convert(source, to);
      EXPECT_EQ(target.dtype, to);
      EXPECT_EQ(convert(target, DType::f64).as<double>()[0], whole ? 0 : -2.5);
    }
  }
  const Array truth = array_of<bool>({2}, {false, true});
  EXPECT_THAT(convert(truth, DType::f32).as<float>(), ElementsAre(0, 1));
}

// A value just beside a tie of the narrow type, so close that the way through float would land on
// the tie and then round to even, the wrong way.
TEST(Convert, RoundsOnce) {
  const auto f16_bits = [](double x) {
    return convert(array_of<double>({1}, {x}), DType::f16).as<f16>()[0].bits;
  };
  EXPECT_EQ(f16_bits(1 + 0x1p-11), 0x3c00);             // a tie: to even
  EXPECT_EQ(f16_bits(1 + 0x1p-11 + 0x1p-40), 0x3c01);   // just above it
  EXPECT_EQ(f16_bits(-1 - 0x1p-11 - 0x1p-40), 0xbc01);  // likewise
  EXPECT_EQ(f16_bits(1 + 3 * 0x1p-11 - 0x1p-40), 0x3c01);
  EXPECT_EQ(f16_bits(1e300), 0x7c00);
  EXPECT_EQ(f16_bits(-1e-300), 0x8000);
  EXPECT_EQ(f16_bits(std::numeric_limits<double>::infinity()), 0x7c00);
  EXPECT_TRUE(std::isnan(to_float(f16{f16_bits(std::nan(""))})));

  // 2^62 + 2^54 lies half-way between two bf16; one more must round up.
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  const Array whole = convert(array_of<std::int64_t>({3}, {tie, tie + 1, -tie - 1}), DType::bf16);
  const auto halves = whole.as<bf16>();
  EXPECT_EQ(to_float(halves[0]), 0x1p62f);
  EXPECT_EQ(to_float(halves[1]), 0x1p62f + 0x1p55f);
  EXPECT_EQ(to_float(halves[2]), -0x1p62f - 0x1p55f);
}

TEST(Convert, WholeNumbersBecomeI64OrAreRefused) {
  const Array small = array_of<std::uint8_t>({2}, {0, 255});
  EXPECT_THAT(convert(small, DType::i64).as<std::int64_t>(), ElementsAre(0, 255));
  const Array large = array_of<std::uint64_t>({2}, {1, std::numeric_limits<std::uint64_t>::max()});
  EXPECT_THAT(error_of([&] { convert(large, DType::i64); }), HasSubstr("element 1 is 1844674407"));
  EXPECT_THAT(error_of([] { convert(array_of<float>({1}, {1}), DType::i64); }),
              HasSubstr("f32 does not become i64"));
  EXPECT_THROW(convert(small, DType::i8), Error);
  EXPECT_THAT(convert(small, DType::u8).as<std::uint8_t>(), ElementsAre(0, 255));
}

TEST(Summary, CountsWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Array a = array_of<double>({6}, {std::nan(""), infinity, -infinity, infinity, 3, -4});
  const Summary s = summarise(a);
  EXPECT_EQ(s.nan, 1u);
  EXPECT_EQ(s.positive_infinity, 2u);
  EXPECT_EQ(s.negative_infinity, 1u);
  EXPECT_EQ(s.finite, 2u);
  EXPECT_EQ(s.min, -4);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(summarise(Array(DType::f16, {0})).finite, 0u);
}

TEST(Text, ShowsUtf8AndEscapesTheRest) {
  EXPECT_EQ(printable("wörd 語 😀"), "wörd 語 😀");
  EXPECT_EQ(printable("a\x1b[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // a C1 control character
  EXPECT_EQ(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");  // never UTF-8, overlong
  EXPECT_EQ(printable("\xe0\x80\x80"), "\\xe0\\x80\\x80");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf0\x80\x80\x80"), "\\xf0\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe8\xaa"), "\\xe8\\xaa");  // cut short
  EXPECT_EQ(in_quotes(std::string(100, 'x')), '"' + std::string(80, 'x') + "...\"");
  EXPECT_EQ(in_quotes("x"), "\"x\"");
}

}  // namespace
}  // namespace heed::io
