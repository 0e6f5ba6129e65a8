// OpenBLAS: the three steps by two sgemm and a softmax that the compiler vectorises.
#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "bench/peers/three_step.h"

namespace heed::bench {
namespace {

// s[0..visible) <- softmax, s[visible..n) <- 0.
void softmax_row(float* s, std::size_t visible, std::size_t n) {
  float m = s[0];
  for (std::size_t j = 1; j < visible; ++j) m = std::max(m, s[j]);
  float l = 0;
  for (std::size_t j = 0; j < visible; ++j) {
    s[j] = std::exp(s[j] - m);
    l += s[j];
  }
  const float factor = 1 / l;
  for (std::size_t j = 0; j < visible; ++j) s[j] *= factor;
  std::fill(s + visible, s + n, 0.0f);
}

void compute(const Piece& p, float* s) {
  const auto n_q = static_cast<int>(p.n_q), n_k = static_cast<int>(p.n_k),
             d = static_cast<int>(p.d);
  const auto q_stride = static_cast<int>(p.q_stride), kv_stride = static_cast<int>(p.kv_stride);
  const auto o_stride = static_cast<int>(p.o_stride);
  if (n_q == 1) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n_k, d, p.scale, p.k, kv_stride, p.q, 1, 0.0f, s, 1);
    softmax_row(s, p.n_k, p.n_k);
    cblas_sgemv(CblasRowMajor, CblasTrans, n_k, d, 1.0f, p.v, kv_stride, s, 1, 0.0f, p.o, 1);
    return;
  }
  if (p.bias != nullptr) std::copy(p.bias, p.bias + p.n_q * p.n_k, s);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n_q, n_k, d, p.scale, p.q, q_stride, p.k,
              kv_stride, p.bias != nullptr ? 1.0f : 0.0f, s, n_k);
  for (std::size_t i = 0; i < p.n_q; ++i)
    softmax_row(s + i * p.n_k, p.causal ? std::min(i + 1, p.n_k) : p.n_k, p.n_k);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n_q, d, n_k, 1.0f, s, n_k, p.v, kv_stride,
              0.0f, p.o, o_stride);
}

void multiply(const Product& p) {
  const auto size = [](std::size_t n) { return static_cast<int>(n); };
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(p.rows), size(p.columns), size(p.in),
              1.0f, p.a, size(p.a_stride), p.w, size(p.w_stride), 0.0f, p.c, size(p.c_stride));
}

}  // namespace

Competitor openblas_competitor() {
  return {.name = "openblas",
          .variant = "sgemm, softmax, sgemm",
          .version = [] { return std::string(openblas_get_config()); },
          .make =
              [](const Problem& problem, std::size_t threads, float* output) {
                openblas_set_num_threads(1);  // the heads are what runs in parallel
                return make_three_step(problem, threads, output, compute, multiply);
              }};
}

}  // namespace heed::bench
