// An index names shards beside it; here there is none, so it is the reading up to there that
// counts.
#include <span>

#include "fuzz/target.h"
#include "io/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    heed::io::open_sharded(std::as_bytes(std::span(data, size)), "input", "no-such-folder");
  } catch (const heed::Error&) {
  }
  return 0;
}
