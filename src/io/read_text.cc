#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/checks.h"
#include "heed/io.h"

namespace heed::io {

std::string read_text(const std::filesystem::path& path) {
  const auto text_of = [](std::FILE* stream, const std::string& label) {
    const std::vector<std::byte> bytes = read_stream(stream, label);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  if (path == "-") return text_of(stdin, "standard input");
  const std::string name = path.string();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(name.c_str(), "rb"),
                                                               std::fclose);
  require(stream != nullptr, name, ": ", std::strerror(errno));
  return text_of(stream.get(), name);
}

}  // namespace heed::io
