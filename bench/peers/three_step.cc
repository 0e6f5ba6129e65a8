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

// x W_Q, x W_K, x W_V; the pieces of every head; their outputs times W_O.
class ThreeStepLayer : public Peer {
 public:
  ThreeStepLayer(const Problem& problem, std::size_t threads, float* output, ComputePiece compute,
                 ComputeProduct multiply)
      : problem_(problem), threads_(threads), output_(output), multiply_(multiply) {
    const Shape& shape = problem.shape;
    const std::size_t d = model_dim(shape), n = shape.n_q;
    for (AlignedVector<float>* x : {&q_, &k_, &v_, &o_}) x->resize(n * d);
    std::vector<Piece> pieces;
    for (std::size_t h = 0; h < shape.query_heads; ++h) {
      const std::size_t at = h * shape.head_dim;
      Piece piece{
          .q = q_.data() + at, .k = k_.data() + at, .v = v_.data() + at, .o = o_.data() + at};
      piece.n_q = piece.n_k = n;
      piece.d = shape.head_dim;
      piece.q_stride = piece.kv_stride = piece.o_stride = d;
      piece.scale = static_cast<float>(*problem.options().scale);
      pieces.push_back(piece);
    }
    attention_ = std::make_unique<ThreeStep>(std::move(pieces), threads, compute);
  }

  void run() override {
    const auto* x = static_cast<const float*>(problem_.q.data);
    const auto* w_q = static_cast<const float*>(problem_.k.data);
    const auto* w_v = static_cast<const float*>(problem_.v.data);
    const std::size_t d = model_dim(problem_.shape);
    project(x, w_q, q_.data());
    project(x, w_q + d * d, k_.data());
    project(x, w_v, v_.data());
    attention_->run();
    project(o_.data(), w_v + d * d, output_);
  }

 private:
  void project(const float* a, const float* w, float* c) const {
    const std::size_t d = model_dim(problem_.shape), columns = d / threads_;
#pragma omp parallel for num_threads(static_cast <int>(threads_))
    for (std::size_t part = 0; part < threads_; ++part) {
      const std::size_t first = part * columns;
      const std::size_t count = part + 1 == threads_ ? d - first : columns;
      multiply_({a, w + first, c + first, problem_.shape.n_q, d, count, d, d, d});
    }
  }

  const Problem& problem_;
  std::size_t threads_;
  float* output_;
  ComputeProduct multiply_;
  AlignedVector<float> q_, k_, v_, o_;
  std::unique_ptr<ThreeStep> attention_;
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
                                      ComputePiece compute, ComputeProduct multiply) {
  if (problem.shape.kv_dtype != DType::f32) return nullptr;
  if (problem.shape.kind == Kind::layer)
    return std::make_unique<ThreeStepLayer>(problem, threads, output, compute, multiply);
  return std::make_unique<ThreeStep>(pieces_of(problem, output), threads, compute);
}

}  // namespace heed::bench
