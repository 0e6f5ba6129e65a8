#include "trace/width.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed::explain {
namespace {

using ::testing::ElementsAre;

TEST(Width, CountsColumns) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("love"), 4u);
  EXPECT_EQ(display_width("é"), 1u);
  EXPECT_EQ(display_width("e\u0301"), 1u);  // a combining accent
  EXPECT_EQ(display_width("日本語"), 6u);
  EXPECT_EQ(display_width("😀"), 2u);
  EXPECT_EQ(display_width("👩‍🚀"), 2u);  // woman, joiner, rocket
  EXPECT_EQ(display_width("👍🏽"), 2u);     // with a skin tone
  EXPECT_EQ(display_width("❤️"), 2u);       // a narrow heart made an emoji
  EXPECT_EQ(display_width("q₂₁·k₃₁"), 7u);
}

TEST(Width, InvalidUtf8IsOneReplacementPerByte) {
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(visible_token("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(visible_token("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
  EXPECT_EQ(visible_token("\xed\xa0\x80").size(), 9u);               // a surrogate, byte by byte
  EXPECT_EQ(visible_token("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");  // cut off
}

TEST(Width, ControlCharactersAreEscaped) {
  EXPECT_EQ(visible_token("a\tb\n\r"), "a\\tb\\n\\r");
  EXPECT_EQ(visible_token(std::string_view("\0\x1b[31m", 6)), "\\0\\x1b[31m");
  EXPECT_EQ(visible_token("\u202e"), "\\u{202e}");  // right-to-left override
  EXPECT_EQ(visible_token(""), "\"\"");
}

TEST(Width, FitShortensByColumns) {
  EXPECT_EQ(fit("love", 4), "love");
  EXPECT_EQ(fit("lovely", 4), "lov…");
  EXPECT_EQ(fit("lovely", 4, true), "lov~");
  EXPECT_EQ(fit("日本語", 4), "日…");
  EXPECT_EQ(fit("love", 0), "");
}

TEST(Width, Padding) {
  EXPECT_EQ(pad_right("日", 4), "日  ");
  EXPECT_EQ(pad_left("日", 4), "  日");
  EXPECT_EQ(pad_both("ab", 5), " ab  ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Width, RepeatedTokensAreNumbered) {
  EXPECT_THAT(unique_labels({"the", "cat", "the"}), ElementsAre("the#1", "cat", "the#2"));
}

TEST(Width, AsciiSpellsHeedsSymbols) {
  EXPECT_EQ(to_ascii("q₂₁·k₃₁ ≈ √2"), "q_21*k_31 ~ sqrt 2");
  EXPECT_EQ(to_ascii("x₁,₁₀"), "x_1,10");
  EXPECT_EQ(to_ascii("日"), "\\u{65e5}");
}

}  // namespace
}  // namespace heed::explain
