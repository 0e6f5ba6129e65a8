#include "heed/problem.h"

#include <string_view>

#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    heed::explain::validate(heed::explain::parse_problem(text, "no-such-folder"));
  } catch (const heed::Error&) {
  }
  return 0;
}
