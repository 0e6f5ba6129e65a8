// Feeds files through a fuzz target without libFuzzer: what a fuzzer once found stays found.
//   heed_fuzz_replay_npy FOLDER_OR_FILE...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace {

// The file, and every shorter one.
void replay(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    // Its own allocation, so that a sanitizer notices a read past the end.
    const std::vector<std::uint8_t> input(bytes.begin(),
                                          bytes.begin() + static_cast<std::ptrdiff_t>(length));
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      replay(argv[i]);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      replay(entry.path());
      ++files;
    }
  }
  std::printf("%d files, each cut at every byte\n", files);
  return files == 0 ? 1 : 0;
}
