#include "trace/width.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace heed::explain {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode's East Asian Width W and F, and characters shown as emoji, joined into broad ranges.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
    {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},
    {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},
    {0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},   {0x27bf, 0x27bf},
    {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x16ff1},
    {0x17000, 0x18cff}, {0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
    {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
    {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
    {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
    {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
    {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7},
    {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
    {0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

// Combining marks and characters without a width of their own.
constexpr Range kZero[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf},   {0x05c1, 0x05c2},
    {0x05c4, 0x05c5}, {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670},   {0x06d6, 0x06dc},
    {0x06df, 0x06e4}, {0x06e7, 0x06e8}, {0x06ea, 0x06ed}, {0x0711, 0x0711},   {0x0730, 0x074a},
    {0x0900, 0x0902}, {0x093a, 0x093a}, {0x093c, 0x093c}, {0x0941, 0x0948},   {0x094d, 0x094d},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1160, 0x11ff},   {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0x302a, 0x302d},   {0x3099, 0x309a},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

template <std::size_t N>
bool contains(const Range (&ranges)[N], char32_t c) {
  const Range* r = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                    [](char32_t x, const Range& range) { return x < range.first; });
  return r != std::begin(ranges) && c <= (r - 1)->last;
}

constexpr char32_t kReplacement = 0xfffd, kJoiner = 0x200d, kEmojiStyle = 0xfe0f;
bool is_skin_tone(char32_t c) {
  return 0x1f3fb <= c && c <= 0x1f3ff;
}

bool must_be_escaped(char32_t c) {
  return c < 0x20 || (0x7f <= c && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
         (0x2028 <= c && c <= 0x202e) || (0x2060 <= c && c <= 0x206f);
}

std::string hex(char32_t c, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (; c != 0 || text.size() < digits; c >>= 4) text.insert(text.begin(), kDigits[c & 15]);
  return text;
}

std::string escaped(char32_t c) {
  switch (c) {
    case U'\n': return "\\n";
    case U'\r': return "\\r";
    case U'\t': return "\\t";
    case U'\0': return "\\0";
    default: break;
  }
  return c < 0x100 ? "\\x" + hex(c, 2) : "\\u{" + hex(c, 1) + "}";
}

// Widths of the code points one by one, told as they come.
class WidthCounter {
 public:
  std::size_t add(char32_t c) {
    const char32_t before = std::exchange(before_, c);
    if (c == kEmojiStyle && width_of_before_ == 1) return width_of_before_ = 2, 1;
    if (before == kJoiner && width_of_before_ == 2) return 0;
    if (is_skin_tone(c) && width_of_before_ == 2) return 0;
    if (contains(kZero, c) || c < 0x20) return 0;
    return width_of_before_ = contains(kWide, c) ? 2 : 1;
  }

 private:
  char32_t before_ = 0;
  std::size_t width_of_before_ = 0;
};

const std::map<std::string_view, std::string_view>& ascii_spellings() {
  static const std::map<std::string_view, std::string_view> spellings = {
      {"×", "x"},    {"·", "*"},  {"√", "sqrt "}, {"−", "-"},   {"∞", "inf"}, {"≈", "~"},
      {"…", "..."},  {"→", "->"}, {"←", "<-"},    {"Σ", "sum"}, {"ᵀ", "^T"},  {"′", "'"},
      {"─", "-"},    {"│", "|"},  {"┌", "+"},     {"┐", "+"},   {"└", "+"},   {"┘", "+"},
      {"├", "+"},    {"┤", "+"},  {"┬", "+"},     {"┴", "+"},   {"┼", "+"},   {"═", "="},
      {"⎡", "["},    {"⎢", "["},  {"⎣", "["},     {"⎤", "]"},   {"⎥", "]"},   {"⎦", "]"},
      {"▼", "v"},    {"₀", "0"},  {"₁", "1"},     {"₂", "2"},   {"₃", "3"},   {"₄", "4"},
      {"₅", "5"},    {"₆", "6"},  {"₇", "7"},     {"₈", "8"},   {"₉", "9"},   {"≤", "<="},
      {"≥", ">="},   {"≠", "!="}, {"“", "\""},    {"”", "\""},  {"’", "'"},   {"÷", "/"},
      {"↓", "down"}, {"▸", ">"},  {"▾", "v"},     {"✓", "ok"},  {"✗", "x"},
  };
  return spellings;
}

}  // namespace

char32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  char32_t c = length == 1 ? lead : lead & (0x7fu >> length);
  bool valid = length != 0 && length <= text.size();
  for (std::size_t i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xc0) == 0x80;
    c = c << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && c >= kLeast[length] && c <= 0x10ffff && !(0xd800 <= c && c <= 0xdfff);
  text.remove_prefix(valid ? length : 1);
  return valid ? c : kReplacement;
}

std::size_t display_width(std::string_view text) {
  WidthCounter counter;
  std::size_t width = 0;
  while (!text.empty()) width += counter.add(take_code_point(text));
  return width;
}

std::string visible_token(std::string_view token) {
  if (token.empty()) return "\"\"";
  std::string text;
  while (!token.empty()) {
    const std::string_view before = token;
    const char32_t c = take_code_point(token);
    const std::string_view bytes = before.substr(0, before.size() - token.size());
    if (must_be_escaped(c))
      text += escaped(c);
    else if (c == kReplacement)
      text += "\xef\xbf\xbd";
    else
      text += bytes;
  }
  return text;
}

std::string fit(std::string_view text, std::size_t width, bool ascii) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view ellipsis = ascii ? "~" : "…";
  if (width == 0) return "";
  WidthCounter counter;
  std::string shortened;
  std::size_t used = 0;
  while (!text.empty()) {
    std::string_view rest = text;
    used += counter.add(take_code_point(rest));
    if (used > width - 1) break;
    shortened += text.substr(0, text.size() - rest.size());
    text = rest;
  }
  return shortened + std::string(ellipsis);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  return std::string(text) + std::string(width > have ? width - have : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  return std::string(width > have ? width - have : 0, ' ') + std::string(text);
}

std::string pad_both(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  const std::size_t left = width > have ? (width - have) / 2 : 0;
  return pad_right(std::string(left, ' ') + std::string(text), width);
}

std::vector<std::string> unique_labels(const std::vector<std::string>& tokens) {
  std::map<std::string, std::size_t> total, seen;
  std::vector<std::string> labels;
  for (const std::string& token : tokens) labels.push_back(visible_token(token));
  for (const std::string& label : labels) ++total[label];
  for (std::string& label : labels)
    if (total[label] > 1) {
      const std::size_t number = ++seen[label];
      label += "#" + std::to_string(number);
    }
  return labels;
}

std::string to_ascii(std::string_view text) {
  std::string result;
  bool subscript = false;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_code_point(text);
    const std::string_view bytes = before.substr(0, before.size() - text.size());
    const bool is_subscript = 0x2080 <= c && c <= 0x2089;
    if (is_subscript && !subscript) result += '_';
    subscript = is_subscript || (subscript && c == U',');
    const auto spelling = ascii_spellings().find(bytes);
    if (c < 0x80)
      result += bytes;
    else if (spelling != ascii_spellings().end())
      result += spelling->second;
    else
      result += "\\u{" + hex(c, 1) + "}";
  }
  return result;
}

}  // namespace heed::explain
