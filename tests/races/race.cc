// Races on purpose, each through heed's own threads and kernels.
//
//   heed_race score_mod     all tasks of a run change one number
//   heed_race outputs       two runs write to one output
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "heed/attention.h"

namespace {

constexpr std::size_t kHeads = 8, kTokens = 256, kDim = 64;

struct Data {
  std::vector<float> in = std::vector<float>(kHeads * kTokens * kDim, 0.5f), out = in;

  void attend(const heed::AttentionOptions& options, std::size_t threads) {
    const auto x = heed::bhnd(static_cast<const float*>(in.data()), 1, kHeads, kTokens, kDim);
    heed::attention(x, x, x, heed::bhnd(out.data(), 1, kHeads, kTokens, kDim), options,
                    {.threads = threads});
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  Data data;
  if (kind == "score_mod") {
    std::size_t tiles = 0;
    auto count = [&](const auto&) { ++tiles; };
    data.attend({.score_mod = heed::score_mod(count)}, 2);
    std::printf("%zu tiles\n", tiles);
  } else if (kind == "outputs") {
    std::thread other([&] { data.attend({}, 1); });
    data.attend({}, 1);
    other.join();
  } else {
    std::fprintf(stderr, "heed_race: score_mod or outputs\n");
    return 2;
  }
}
