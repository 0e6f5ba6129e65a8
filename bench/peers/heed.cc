// heed itself, as one of the competitors.
#include "bench/harness/heed_run.h"
#include "bench/peers/peer.h"
#include "heed/version.h"

namespace heed::bench {
namespace {

class HeedPeer : public Peer {
 public:
  HeedPeer(const Problem& problem, std::size_t threads, float* output)
      : run_(problem, threads, output) {}
  void run() override { run_.run(); }

 private:
  HeedRun run_;
};

}  // namespace

Competitor heed_competitor() {
  return {.name = "heed",
          .variant = "heed::Plan",
          .version = [] { return std::string(HEED_VERSION); },
          .make = [](const Problem& problem, std::size_t threads,
                     float* output) -> std::unique_ptr<Peer> {
            return std::make_unique<HeedPeer>(problem, threads, output);
          }};
}

}  // namespace heed::bench
