#include "bench/peers/three_step.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace heed::bench {
namespace {

// The single head of a view that starts at (batch, head, token).
template <class T, class View>
T* at(const View& x, std::size_t batch, std::size_t head, std::size_t token) {
  return static_cast<T*>(x.data) + static_cast<std::ptrdiff_t>(batch) * x.batch_stride +
         static_cast<std::ptrdiff_t>(head) * x.head_stride +
         static_cast<std::ptrdiff_t>(token) * x.token_stride;
}

class ThreeStep : public Peer {
 public:
  ThreeStep(std::vector<Piece> pieces, std::size_t threads, ComputePiece compute)
      : pieces_(std::move(pieces)), threads_(static_cast<int>(threads)), compute_(compute) {
    std::size_t most = 0;
    for (const Piece& piece : pieces_) most = std::max(most, piece.n_q * piece.n_k);
    scores_.assign(threads, AlignedVector<float>(most));
  }

  void run() override {
    const auto count = static_cast<std::ptrdiff_t>(pieces_.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::ptrdiff_t n = 0; n < count; ++n)
      compute_(pieces_[static_cast<std::size_t>(n)],
               scores_[static_cast<std::size_t>(omp_get_thread_num())].data());
  }

 private:
  std::vector<Piece> pieces_;
  int threads_;
  ComputePiece compute_;
  std::vector<AlignedVector<float>> scores_;  // one for each thread
};

}  // namespace

std::vector<Piece> pieces_of(const Problem& problem, float* output) {
  const Shape& shape = problem.shape;
  const TensorView out = output_view(problem, output);
  const std::size_t group = shape.query_heads / shape.kv_heads;
  const std::size_t heads_per_piece = shape.n_q == 1 ? group : 1;
  std::vector<Piece> pieces;
  for (std::size_t sequence = 0; sequence < shape.batch; ++sequence) {
    const bool ragged = shape.shortest != 0;
    const std::size_t batch = ragged ? 0 : sequence;
    const std::size_t start = ragged ? static_cast<std::size_t>(problem.cu_seqlens[sequence]) : 0;
    const std::size_t tokens =
        ragged ? static_cast<std::size_t>(problem.cu_seqlens[sequence + 1]) - start : shape.n_k;
    for (std::size_t h = 0; h < shape.query_heads; h += heads_per_piece) {
      const bool grouped = heads_per_piece > 1;
      pieces.push_back(
          {.q = at<const float>(problem.q, batch, h, start),
           .k = at<const float>(problem.k, batch, h / group, start),
           .v = at<const float>(problem.v, batch, h / group, start),
           .o = at<float>(out, batch, h, start),
           .bias = problem.bias ? static_cast<const float*>(problem.bias.data) +
                                      static_cast<std::ptrdiff_t>(h) * problem.bias.strides[1]
                                : nullptr,
           .n_q = grouped ? heads_per_piece : (ragged ? tokens : shape.n_q),
           .n_k = tokens,
           .d = shape.head_dim,
           .q_stride =
               static_cast<std::size_t>(grouped ? problem.q.head_stride : problem.q.token_stride),
           .kv_stride = static_cast<std::size_t>(problem.k.token_stride),
           .o_stride = static_cast<std::size_t>(grouped ? out.head_stride : out.token_stride),
           .scale = shape.kind == Kind::selfish
                        ? 1.0f
                        : 1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
           .causal = shape.causal});
    }
  }
  return pieces;
}

std::unique_ptr<Peer> make_three_step(const Problem& problem, std::size_t threads, float* output,
                                      ComputePiece compute) {
  if (problem.shape.kv_dtype != DType::f32) return nullptr;
  return std::make_unique<ThreeStep>(pieces_of(problem, output), threads, compute);
}

}  // namespace heed::bench
