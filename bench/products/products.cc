// Claim: the layer's own product with packed weights is faster than OpenBLAS's sgemm, at 512 tokens
// and far more so at 5, so that the layer needs no BLAS.
//
//   heed_bench_products [SECONDS]     Q, K and V of a layer of 512 with one thread, both ways
#include <cblas.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/turns.h"
#include "heed/layer.h"
#include "heed/machine.h"

namespace {

using namespace heed::bench;

constexpr std::size_t kModel = 512, kHeads = 8;

AlignedVector<float> numbers(std::size_t size, unsigned seed) {
  AlignedVector<float> values(size);
  for (float& x : values) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

// The largest difference between heed's Q and the same columns by OpenBLAS, [tokens, 3 * kModel].
double difference(heed::ConstTensorView q, const AlignedVector<float>& qkv) {
  double most = 0;
  for (std::size_t h = 0; h < q.heads; ++h)
    for (std::size_t i = 0; i < q.tokens; ++i) {
      const float* row = static_cast<const float*>(q.data) +
                         static_cast<std::ptrdiff_t>(h) * q.head_stride +
                         static_cast<std::ptrdiff_t>(i) * q.token_stride;
      for (std::size_t c = 0; c < q.dim; ++c)
        most = std::fmax(most, std::fabs(row[c] - qkv[i * 3 * kModel + h * q.dim + c]));
    }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  openblas_set_num_threads(1);
  const AlignedVector<float> w = numbers(kModel * 3 * kModel, 1);  // W_Q, W_K, W_V side by side
  const auto columns = [&](std::size_t n) {
    heed::WeightView view = heed::in_out(w.data() + n * kModel, kModel, kModel);
    view.in_stride = 3 * kModel;
    return view;
  };
  const heed::MultiHeadAttention layer(
      {.d_model = kModel, .query_heads = kHeads},
      {.query = columns(0), .key = columns(1), .value = columns(2), .output = columns(0)});

  std::printf("Q, K and V of %zu, one thread\n tokens    heed us  of peak   OpenBLAS us  of peak\n",
              kModel);
  for (const std::size_t tokens : {std::size_t{512}, std::size_t{5}}) {
    const AlignedVector<float> x = numbers(tokens * kModel, 2);
    AlignedVector<float> qkv(tokens * 3 * kModel);
    heed::LayerProjections steps(layer, 1, tokens, tokens, {.threads = 1});
    const auto input = heed::sequences(x.data(), 1, tokens, kModel);
    double peak = 0;
    const auto measure_peak = [&] { peak = std::fmax(peak, heed::measure_fma_peak(1, 0.004)); };
    const auto n = static_cast<int>(tokens), d = static_cast<int>(kModel);
    std::vector<Subject> subjects = {{.run = [&] { steps.project(input); }, .beside = measure_peak},
                                     {.run =
                                          [&] {
                                            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans,
                                                        n, 3 * d, d, 1.0f, x.data(), d, w.data(),
                                                        3 * d, 0.0f, qkv.data(), 3 * d);
                                          },
                                      .beside = measure_peak}};
    take_turns(subjects, {.seconds = seconds, .rounds = 10, .min_runs = 5});
    std::printf("%7zu", tokens);
    for (const Subject& subject : subjects) {
      const double took = best(subject.seconds);
      const double flops = 6.0 * static_cast<double>(tokens * kModel * kModel);
      std::printf(" %10.1f %7.1f%%   ", 1e6 * took, 100 * flops / took / peak);
    }
    std::printf("\n");
    // Both are chains of 512 products below 1: they differ by their roundings alone.
    if (difference(steps.project(input).q, qkv) > 512 * 512 * 0x1p-24) {
      std::fprintf(stderr, "heed and OpenBLAS disagree\n");
      return 1;
    }
  }
}
