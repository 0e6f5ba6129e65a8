// How wide text is on a terminal, and tokens made safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heed::explain {

// One code point off the front of `text`; an invalid byte gives U+FFFD.
char32_t take_code_point(std::string_view& text);

// Columns of a UTF-8 text: 2 for East Asian wide characters and emoji, 0 for combining marks,
// joined emoji and variation selectors.
std::size_t display_width(std::string_view text);

// A token as it may be shown: control characters and direction overrides are escaped (\n, \x1b,
// \u{202e}), invalid UTF-8 replaced, an empty token written "".
std::string visible_token(std::string_view token);

// The same, shortened to at most `width` columns with an ellipsis.
std::string fit(std::string_view text, std::size_t width, bool ascii = false);

// `text` and as many spaces as bring it to `width` columns.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_both(std::string_view text, std::size_t width);

// Tokens as labels: visible, and repeated ones numbered ("the#1", "the#2").
std::vector<std::string> unique_labels(const std::vector<std::string>& tokens);

// UTF-8 as plain ASCII: the symbols heed itself uses have a spelling (× is x, √ is sqrt), any other
// character is written \u{...}.
std::string to_ascii(std::string_view text);

}  // namespace heed::explain
