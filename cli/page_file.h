// The built page, found beside the tool: one HTML file that holds the engine, and a place in it for
// a problem.
#pragma once

#include <string>
#include <string_view>

namespace heed::cli {

// The text of share/heed/page.html, of this build or of this installation; throws saying how to
// build it when it is absent.
std::string read_page();

// The page with a problem in it, to be shown first. `json` is the text of a problem file; nothing
// in it can end the element it is put into.
std::string page_with_problem(std::string_view page, std::string_view json);

// A problem file as text that needs no other file: as it is written where it names none, otherwise
// with all matrices in it. Throws as reading the problem would.
std::string self_contained_problem(const std::string& path);

}  // namespace heed::cli
