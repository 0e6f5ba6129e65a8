// For the tests of the layer: a layer that owns its weights and inputs, its oracle, and how far the
// result may be from it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <vector>

#include "heed/layer.h"
#include "heed/reference.h"
#include "kernels/case_test.h"

namespace heed::test {

// A matrix [rows, cols] (or, with rows 1, a vector) of any float dtype, as `Stored`.
inline Stored stored(DType dtype, std::size_t batch, std::size_t rows, std::size_t cols,
                     std::size_t gap = 0) {
  Stored s;
  s.dtype = dtype;
  s.batch = batch;
  s.heads = 1;
  s.tokens = rows;
  s.dim = cols;
  s.gap = gap;
  return s;
}

inline SequenceView sequence_view(Stored& s) {
  const TensorView v = s.view();
  return {v.data, v.dtype, v.batch, v.tokens, v.dim, v.batch_stride, v.token_stride};
}

struct LayerCase {
  std::size_t d_model = 1, d_context = 1, query_heads = 1, kv_heads = 1, m = 1, l = 1;
  std::size_t batch = 1, n_q = 1, n_k = 1;
  bool self = true, out_in = false, biased = false;
  WeightStorage storage = WeightStorage::packed;
  DType type = DType::f32, weight_type = DType::f32;
  std::optional<Rotary> rotary;
  std::optional<double> norm_epsilon;
  LayerOptions options;

  Stored y, z, out;
  Stored w_q, w_k, w_v, w_o;                      // [in, out], or [out, in]
  Stored b_q, b_k, b_v, b_o, norm_q, norm_k;      // [1, size]
  std::vector<std::int64_t> lengths, cu_q, cu_k;  // what options point at
  std::vector<std::int64_t> query_places, key_places;
  std::vector<std::uint8_t> mask;
  std::vector<float> bias, slopes, sinks;

  void make(Random& random) {
    if (self) {
      d_context = d_model;
      n_k = n_q;
    }
    const auto fill = [&](Stored& s, double scale) {
      s.fill([&] { return static_cast<float>(scale) * random.normal(); });
    };
    const auto weight = [&](Stored& s, std::size_t in, std::size_t to) {
      s = out_in ? stored(weight_type, 1, to, in, 1) : stored(weight_type, 1, in, to, 1);
      fill(s, 1 / std::sqrt(static_cast<double>(in)));
    };
    const auto vector = [&](Stored& s, std::size_t size) {
      s = stored(weight_type, 1, 1, size);
      fill(s, 1);
    };
    y = stored(type, batch, n_q, d_model, 2);
    z = stored(type, batch, n_k, d_context, 3);
    out = stored(type, batch, n_q, d_model, 1);
    fill(y, 1);
    fill(z, 1);
    weight(w_q, d_model, query_heads * m);
    weight(w_k, d_context, kv_heads * m);
    weight(w_v, d_context, kv_heads * l);
    weight(w_o, query_heads * l, d_model);
    vector(b_q, query_heads * m);
    vector(b_k, kv_heads * m);
    vector(b_v, kv_heads * l);
    vector(b_o, d_model);
    vector(norm_q, m);
    vector(norm_k, m);
  }

  MultiHeadConfig config() {
    MultiHeadConfig c;
    c.d_model = d_model;
    c.d_context = d_context;
    c.query_heads = query_heads;
    c.kv_heads = kv_heads;
    c.key_dim = m;
    c.value_dim = l;
    c.rotary = rotary;
    if (norm_epsilon) c.qk_norm = norm();
    return c;
  }
  QkNorm norm() { return {vector_view(norm_q), vector_view(norm_k), *norm_epsilon}; }
  static VectorView vector_view(Stored& s) { return {s.view().data, s.dtype, s.dim}; }
  WeightView weight_view(Stored& s) const {
    const TensorView v = s.view();
    return out_in ? WeightView{v.data, v.dtype, v.dim, v.tokens, 1, v.token_stride}
                  : WeightView{v.data, v.dtype, v.tokens, v.dim, v.token_stride, 1};
  }
  MultiHeadWeights weights() {
    MultiHeadWeights w;
    w.query = weight_view(w_q);
    w.key = weight_view(w_k);
    w.value = weight_view(w_v);
    w.output = weight_view(w_o);
    if (!biased) return w;
    w.query_bias = vector_view(b_q);
    w.key_bias = vector_view(b_k);
    w.value_bias = vector_view(b_v);
    w.output_bias = vector_view(b_o);
    return w;
  }
  MultiHeadAttention layer() { return MultiHeadAttention(config(), weights(), storage); }

  void run(const Execution& execution = {}) {
    out.allocate();
    if (self)
      layer().self_attention(sequence_view(y), sequence_view(out), options, execution);
    else
      layer().cross_attention(sequence_view(y), sequence_view(z), sequence_view(out), options,
                              execution);
  }

  // The numbers of a weight as [in, out] doubles.
  std::vector<double> numbers(const Stored& s, bool turned) const {
    std::vector<double> result;
    const std::size_t in = turned ? s.dim : s.tokens, to = turned ? s.tokens : s.dim;
    for (std::size_t x = 0; x < in; ++x)
      for (std::size_t j = 0; j < to; ++j)
        result.push_back(static_cast<double>(turned ? s.get(0, 0, j, x) : s.get(0, 0, x, j)));
    return result;
  }

  template <class T>
  reference::MultiHead<T> oracle() {
    const auto q = numbers(w_q, out_in), k = numbers(w_k, out_in), v = numbers(w_v, out_in),
               o = numbers(w_o, out_in);
    const auto bq = numbers(b_q, false), bk = numbers(b_k, false), bv = numbers(b_v, false),
               bo = numbers(b_o, false);
    reference::Weights w = {.w_q = bnhd(q.data(), 1, d_model, query_heads, m),
                            .w_k = bnhd(k.data(), 1, d_context, kv_heads, m),
                            .w_v = bnhd(v.data(), 1, d_context, kv_heads, l),
                            .w_o = bnhd(o.data(), 1, query_heads * l, 1, d_model)};
    if (biased) {
      w.b_q = bnhd(bq.data(), 1, 1, query_heads, m);
      w.b_k = bnhd(bk.data(), 1, 1, kv_heads, m);
      w.b_v = bnhd(bv.data(), 1, 1, kv_heads, l);
      w.b_o = bnhd(bo.data(), 1, 1, 1, d_model);
    }
    reference::HeadSteps steps;
    if (norm_epsilon) steps.qk_norm = norm();
    steps.rotary = rotary;
    steps.query_positions = query_places;
    steps.key_positions = key_places;
    return reference::multi_head<T>(y.view(), self ? y.view() : z.view(), w, options.attention,
                                    steps);
  }

  friend std::ostream& operator<<(std::ostream& to, const LayerCase& c) {
    to << "batch " << c.batch << ", " << c.n_q << " x " << c.n_k << " tokens, d " << c.d_model
       << " and " << c.d_context << ", heads " << c.query_heads << " on " << c.kv_heads << ", m "
       << c.m << ", l " << c.l << ", " << name_of(c.type) << " with weights "
       << name_of(c.weight_type) << (c.self ? ", self" : ", cross") << (c.out_in ? ", out_in" : "")
       << (c.biased ? ", biased" : "") << (c.norm_epsilon ? ", norm" : "");
    if (c.rotary) to << ", turns " << c.rotary->dims.value_or(c.m);
    return to;
  }
};

struct LayerErrors {
  double max = 0, mean = 0;
};

template <class F>
LayerErrors layer_errors(const LayerCase& c, const reference::Tensor<double>& truth, F&& get) {
  LayerErrors e;
  for (std::size_t b = 0; b < c.batch; ++b)
    for (std::size_t i = 0; i < c.n_q; ++i)
      for (std::size_t j = 0; j < c.d_model; ++j) {
        const double error = std::abs(get(b, i, j) - truth.at(b, 0, i, j));
        e.max = std::max(e.max, std::isnan(error) ? HUGE_VAL : error);
        e.mean += error / static_cast<double>(c.batch * c.n_q * c.d_model);
      }
  return e;
}

// The largest number that W_O can make of values as large as the largest: what one ulp of them is
// measured by.
inline double output_size(const LayerCase& c, const reference::MultiHead<double>& truth) {
  double v = 0, most = 0;
  for (const double x : truth.v.values) v = std::max(v, std::abs(x));
  const std::vector<double> w_o = c.numbers(c.w_o, c.out_in);
  for (std::size_t j = 0; j < c.d_model; ++j) {
    double sum = c.biased ? std::abs(static_cast<double>(c.b_o.get(0, 0, 0, j))) : 0;
    for (std::size_t x = 0; x < c.query_heads * c.l; ++x)
      sum += v * std::abs(w_o[x * c.d_model + j]);
    most = std::max(most, sum);
  }
  return most;
}

// At most twice the error of plain float, besides 2 ulp of exp and the rounding of what is stored.
inline void expect_exact(LayerCase& c) {
  const auto truth = c.oracle<double>();
  const auto plain = c.oracle<float>();
  const LayerErrors of_plain = layer_errors(c, truth.y, [&](auto b, auto i, auto j) {
    return static_cast<double>(plain.y.at(b, 0, i, j));
  });
  const LayerErrors of_layer = layer_errors(c, truth.y, [&](auto b, auto i, auto j) {
    return static_cast<double>(c.out.get(b, 0, i, j));
  });
  const double size = output_size(c, truth);
  const double store = c.type == DType::f32 ? 0 : size * rounding(c.type) + 0x1p-25;
  EXPECT_LE(of_layer.max, 2 * of_plain.max + 2 * 0x1p-23 * size + store) << c;
  EXPECT_LE(of_layer.mean, 2 * of_plain.mean + 0x1p-23 * size + store) << c;
}

}  // namespace heed::test
