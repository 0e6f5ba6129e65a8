#include "cli/page_file.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "cli/executable_path.h"
#include "heed/error.h"
#include "heed/io.h"
#include "heed/problem.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlace = R"(<script type="application/json" id="problem">)";

bool stands_alone(const std::string& text) {
  try {
    explain::parse_problem(text, "no folder to look for files in");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string read_page() {
  const fs::path folder = executable_path().parent_path();
  // In a build folder the tool lies beside share/, once installed below bin/.
  for (const fs::path& root : {folder, folder.parent_path()}) {
    const fs::path page = root / "share" / "heed" / "page.html";
    std::error_code error;
    if (fs::is_regular_file(page, error)) return io::read_text(page);
  }
  throw Error("the page is not built: share/heed/page.html is neither in " + folder.string() +
              " nor in " + folder.parent_path().string() + "; `make web` builds it");
}

std::string page_with_problem(std::string_view page, std::string_view json) {
  const std::size_t at = page.find(kPlace);
  if (at == std::string_view::npos) throw Error("page.html: has no place for a problem");
  std::string text(page.substr(0, at + kPlace.size()));
  // Outside strings and comments a problem has no '<', and inside them this means the same.
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text.append(page.substr(at + kPlace.size()));
}

std::string self_contained_problem(const std::string& path) {
  std::string text = io::read_text(path);
  if (stands_alone(text)) return text;
  const fs::path folder = path == "-" ? fs::path() : fs::path(path).parent_path();
  return to_json(explain::parse_problem(text, folder, path == "-" ? "standard input" : path));
}

}  // namespace heed::cli
