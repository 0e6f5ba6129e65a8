// Eigen: the three steps as matrix expressions.
#define EIGEN_DONT_PARALLELIZE  // the heads are what runs in parallel
#include <Eigen/Core>

#include "bench/peers/three_step.h"

namespace heed::bench {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const RowMajor, Eigen::Unaligned, Eigen::OuterStride<>>;
using Output = Eigen::Map<RowMajor, Eigen::Unaligned, Eigen::OuterStride<>>;

Eigen::Index index(std::size_t n) {
  return static_cast<Eigen::Index>(n);
}

void compute(const Piece& p, float* scores) {
  const Eigen::Index n_q = index(p.n_q), n_k = index(p.n_k), d = index(p.d);
  const Input q(p.q, n_q, d, Eigen::OuterStride<>(index(p.q_stride)));
  const Input k(p.k, n_k, d, Eigen::OuterStride<>(index(p.kv_stride)));
  const Input v(p.v, n_k, d, Eigen::OuterStride<>(index(p.kv_stride)));
  Output o(p.o, n_q, d, Eigen::OuterStride<>(index(p.o_stride)));
  Eigen::Map<RowMajor> s(scores, n_q, n_k);
  s.noalias() = p.scale * q * k.transpose();
  if (p.bias != nullptr) s += Eigen::Map<const RowMajor>(p.bias, n_q, n_k);
  for (Eigen::Index i = 0; i < n_q; ++i) {
    const Eigen::Index visible = p.causal ? std::min(i + 1, n_k) : n_k;
    auto row = s.row(i).head(visible).array();
    row = (row - row.maxCoeff()).exp();
    row *= 1 / row.sum();
    s.row(i).tail(n_k - visible).setZero();
  }
  o.noalias() = s * v;
}

void multiply(const Product& p) {
  const Input a(p.a, index(p.rows), index(p.in), Eigen::OuterStride<>(index(p.a_stride)));
  const Input w(p.w, index(p.in), index(p.columns), Eigen::OuterStride<>(index(p.w_stride)));
  Output c(p.c, index(p.rows), index(p.columns), Eigen::OuterStride<>(index(p.c_stride)));
  c.noalias() = a * w;
}

}  // namespace

Competitor eigen_competitor() {
  return {.name = "eigen",
          .variant = "product, softmax, product",
          .version =
              [] {
                return std::to_string(EIGEN_WORLD_VERSION) + "." +
                       std::to_string(EIGEN_MAJOR_VERSION) + "." +
                       std::to_string(EIGEN_MINOR_VERSION);
              },
          .make =
              [](const Problem& problem, std::size_t threads, float* output) {
                return make_three_step(problem, threads, output, compute, multiply);
              }};
}

}  // namespace heed::bench
