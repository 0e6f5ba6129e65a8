// heed_bench_worker NAME: one competitor, driven by bench/peers/run.py over stdin and stdout.
//
// One request and one reply per line, in JSON:
//   {"op": "shapes", "names": ["P1"]}              {"shapes": [{"label": "P1", ...}]}
//   {"op": "load", "shape": LABEL, "export": DIR}  {"variants": [NAME], "version": TEXT,
//                                                   "plain_error": X, "largest_output": X}
//   {"op": "run", "variant": NAME, "threads": 2, "seconds": 0.2, "runs": 1}    {"ms": [...]}
//   {"op": "check", "variant": NAME}               {"error": largest error on sampled rows}
// A reply {"absent": REASON} says that this competitor has no way to do it; {"failed": REASON} that
// something went wrong. Where "export" is given, the inputs and this answer are written there, for
// competitors in other languages.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "bench/harness/aligned.h"
#include "bench/harness/oracle.h"
#include "bench/harness/turns.h"
#include "bench/peers/peer.h"
#include "heed/error.h"

namespace heed::bench {
namespace {

using Json = nlohmann::json;

Json json_of(const Shape& shape) {
  return {{"label", label_of(shape)},
          {"name", shape.name},
          {"kind", shape.kind == Kind::prefill  ? "prefill"
                   : shape.kind == Kind::decode ? "decode"
                   : shape.kind == Kind::layer  ? "layer"
                                                : "selfish"},
          {"batch", shape.batch},
          {"query_heads", shape.query_heads},
          {"kv_heads", shape.kv_heads},
          {"n_q", shape.n_q},
          {"n_k", shape.n_k},
          {"head_dim", shape.head_dim},
          {"causal", shape.causal},
          {"bias", shape.bias},
          {"lengths", sequence_lengths(shape)},
          {"dtype", name_of(shape.kv_dtype)}};
}

// What is loaded: one shape, its inputs, and the competitor at each thread count asked for.
class Loaded {
 public:
  Loaded(const Shape& shape, MakePeer make)
      : inputs_(std::array{shape}),
        problem_(inputs_.problem(shape)),
        output_(output_size(shape)),
        make_(make) {}

  // Null where the competitor cannot compute this shape.
  Peer* peer(std::size_t threads) {
    std::unique_ptr<Peer>& peer = peers_[threads];
    if (!peer) {
      peer = make_(problem_, threads, output_.data());
      if (peer) peer->run();  // warm
    }
    return peer.get();
  }

  Accuracy accuracy() {
    if (!oracle_) oracle_.emplace(problem_);
    return oracle_->check(output_view(problem_, output_.data()));
  }

  float largest_output() const {
    float largest = 0;
    for (const float x : output_) largest = std::max(largest, std::abs(x));
    return largest;
  }

  void export_to(const std::string& folder) const {
    const Shape& shape = problem_.shape;
    write(folder + "/q.bin", problem_.q.data, output_size(shape) * sizeof(float));
    const std::size_t bytes = inputs_.kv_memory(shape).size();
    const std::size_t tensors = shape.kind == Kind::selfish ? 1 : 2;
    write(folder + "/k.bin", problem_.k.data, bytes / tensors);
    write(folder + "/v.bin", problem_.v.data, bytes / tensors);
    if (problem_.bias)
      write(folder + "/bias.bin", problem_.bias.data,
            shape.query_heads * shape.n_q * shape.n_k * sizeof(float));
    write(folder + "/out.bin", output_.data(), output_.size() * sizeof(float));
  }

 private:
  static void write(const std::string& path, const void* data, std::size_t bytes) {
    std::ofstream file(path, std::ios::binary);
    if (!file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes)).flush())
      throw Error("cannot write " + path);
  }

  Inputs inputs_;
  Problem problem_;
  AlignedVector<float> output_;
  MakePeer make_;
  std::map<std::size_t, std::unique_ptr<Peer>> peers_;
  std::optional<Oracle> oracle_;
};

class Worker {
 public:
  explicit Worker(Competitor competitor) : competitor_(std::move(competitor)) {}

  Json reply(const Json& request) {
    const std::string op = request.at("op");
    if (op == "shapes") return shapes(request);
    if (op == "load") return load(request);
    if (op == "run") return run(request);
    if (op == "check") return {{"error", loaded_.value().accuracy().error}};
    throw Error("no request is called '" + op + "'");
  }

 private:
  Json shapes(const Json& request) {
    Json list = Json::array();
    for (const Shape& shape : select_shapes(request.at("names").get<std::vector<std::string>>()))
      if (shape.kv_dtype != DType::i8)  // a cache of heed's own: nothing to compare it with
        list.push_back(json_of(shape));
    return {{"shapes", list}};
  }

  Json load(const Json& request) {
    const std::vector<std::string> label = {request.at("shape")};
    loaded_.reset();
    loaded_.emplace(select_shapes(label).front(), competitor_.make);
    if (loaded_->peer(1) == nullptr) return {{"absent", "has no such computation"}};
    if (request.contains("export")) loaded_->export_to(request.at("export"));
    return {{"variants", {competitor_.variant}},
            {"version", competitor_.version()},
            {"plain_error", loaded_->accuracy().plain_error},
            {"largest_output", loaded_->largest_output()}};
  }

  Json run(const Json& request) {
    Peer* peer = loaded_.value().peer(request.at("threads"));
    const double seconds = request.at("seconds");
    const std::size_t runs = request.at("runs");
    std::vector<double> ms;
    for (double used = 0; used < seconds || ms.size() < runs;) {
      const double took = seconds_of([&] { peer->run(); });
      ms.push_back(1e3 * took);
      used += took;
    }
    return {{"ms", ms}};
  }

  Competitor competitor_;
  std::optional<Loaded> loaded_;
};

int serve(const Competitor& competitor) {
  Worker worker(competitor);
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      reply = worker.reply(Json::parse(line));
    } catch (const std::exception& e) {
      reply = {{"failed", e.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace heed::bench

int main(int argc, char** argv) {
  using namespace heed::bench;
  const std::string wanted = argc == 2 ? argv[1] : "";
  for (const Competitor& competitor :
       {heed_competitor(), openblas_competitor(), eigen_competitor()})
    if (competitor.name == wanted) return serve(competitor);
  std::fprintf(stderr, "usage: heed_bench_worker heed|openblas|eigen\n");
  return 2;
}
