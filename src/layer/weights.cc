#include "layer/weights.h"

#include <cmath>
#include <utility>

#include "base/checks.h"
#include "base/problem.h"
#include "base/rotary.h"

namespace heed {
namespace {

// What one weight and its bias must be, by name for errors.
struct Expected {
  std::string_view weight, bias;
  std::size_t in = 0, out = 0;
  std::string_view in_name, out_name;
};

void require_weight(const Expected& e, const WeightView& w) {
  require_dtype(e.weight, w.dtype, {DType::f32, DType::f16, DType::bf16});
  require(w.data != nullptr, "layer: ", e.weight, " has no data for its ", e.in, " x ", e.out,
          " numbers");
  require(w.in == e.in, "layer: ", e.weight, " maps ", w.in, " numbers but ", e.in_name, " is ",
          e.in);
  require(w.out == e.out, "layer: ", e.weight, " gives ", w.out, " numbers but ", e.out_name,
          " is ", e.out);
}

// n numbers of any of the dtypes as floats, then `fill` zeros.
AlignedBuffer<float> floats_of(VectorView v, std::size_t fill) {
  AlignedBuffer<float> floats(v.size + fill);
  for (std::size_t n = 0; n < v.size; ++n) switch (v.dtype) {
      case DType::f16: floats[n] = to_float(static_cast<const f16*>(v.data)[n]); break;
      case DType::bf16: floats[n] = to_float(static_cast<const bf16*>(v.data)[n]); break;
      default: floats[n] = static_cast<const float*>(v.data)[n];
    }
  std::fill_n(floats.data() + v.size, fill, 0.0f);
  return floats;
}

Projection make_projection(kernels::Target target, const Expected& e, const WeightView& w,
                           VectorView bias, WeightStorage storage) {
  require_weight(e, w);
  const std::size_t columns = kernels::packed_columns(target, e.out);
  Projection p;
  p.weight = {w.data, w.dtype, w.in, w.out, false, w.in_stride, w.out_stride};
  if (storage == WeightStorage::packed) {
    p.packed =
        AlignedBuffer<std::byte>(checked_product(e.weight, {columns, e.in, size_of(w.dtype)}));
    kernels::pack(target, p.weight, p.packed.data());
    p.weight.data = p.packed.data();
    p.weight.packed = true;
  }
  if (bias) {
    require_dtype(e.bias, bias.dtype, {DType::f32, DType::f16, DType::bf16});
    require(bias.size == e.out, "layer: ", e.bias, " has ", bias.size, " numbers but ", e.weight,
            " gives ", e.out);
    p.bias = floats_of(bias, columns - e.out);
  }
  return p;
}

NormWeight make_norm(VectorView weight, double epsilon, std::size_t key_dim) {
  NormWeight norm;
  norm.epsilon = static_cast<float>(epsilon);
  norm.weight = floats_of(weight, 0);
  if (weight) return norm;
  norm.weight = AlignedBuffer<float>(key_dim);
  std::fill_n(norm.weight.data(), key_dim, 1.0f);
  return norm;
}

std::vector<double> frequencies_of(const Rotary& rotary, std::size_t dims) {
  std::vector<double> frequencies(rotary.frequencies.begin(), rotary.frequencies.end());
  for (std::size_t c = frequencies.size(); c < dims / 2; ++c)
    frequencies.push_back(
        std::pow(rotary.base, -2.0 * static_cast<double>(c) / static_cast<double>(dims)));
  for (double& f : frequencies) f /= rotary.scaling;
  return frequencies;
}

// T heads of `dim` numbers each.
std::size_t width(std::string_view what, std::size_t heads, std::size_t dim) {
  return checked_product(what, {heads, dim});
}

std::size_t default_key_dim(const MultiHeadConfig& config) {
  require(config.query_heads > 0 && config.d_model % config.query_heads == 0, "layer: d_model is ",
          config.d_model, ", which is not a multiple of query_heads ", config.query_heads,
          "; give key_dim");
  return config.d_model / config.query_heads;
}

}  // namespace

MultiHeadAttention::Impl::Impl(const MultiHeadConfig& config, const MultiHeadWeights& w,
                               WeightStorage storage)
    : target(kernels::chosen_target()),
      d_model(config.d_model),
      d_context(config.d_context.value_or(config.d_model)),
      query_heads(config.query_heads),
      kv_heads(config.kv_heads.value_or(config.query_heads)),
      key_dim(config.key_dim ? *config.key_dim : default_key_dim(config)),
      value_dim(config.value_dim.value_or(key_dim)) {
  const auto positive = [](std::string_view name, std::size_t size) {
    require(size > 0, "layer: ", name, " is 0, expected at least 1");
  };
  positive("d_model", d_model);
  positive("d_context", d_context);
  positive("query_heads", query_heads);
  positive("kv_heads", kv_heads);
  positive("key_dim", key_dim);
  positive("value_dim", value_dim);
  require(query_heads % kv_heads == 0, "layer: query_heads is ", query_heads,
          ", which is not a multiple of kv_heads ", kv_heads);
  if (config.qk_norm) {
    require_norm(*config.qk_norm, key_dim);
    query_norm = make_norm(config.qk_norm->query, config.qk_norm->epsilon, key_dim);
    key_norm = make_norm(config.qk_norm->key, config.qk_norm->epsilon, key_dim);
  }
  if (config.rotary) {
    turning = turning_dims(*config.rotary, key_dim);
    frequencies = frequencies_of(*config.rotary, turning);
    pairs = config.rotary->pairs;
  }

  const std::size_t q_width = width("layer: W_Q", query_heads, key_dim),
                    k_width = width("layer: W_K", kv_heads, key_dim),
                    v_width = width("layer: W_V", kv_heads, value_dim),
                    o_width = width("layer: W_O", query_heads, value_dim);
  query =
      make_projection(target, {"W_Q", "b_Q", d_model, q_width, "d_model", "query_heads * key_dim"},
                      w.query, w.query_bias, storage);
  key =
      make_projection(target, {"W_K", "b_K", d_context, k_width, "d_context", "kv_heads * key_dim"},
                      w.key, w.key_bias, storage);
  value = make_projection(target,
                          {"W_V", "b_V", d_context, v_width, "d_context", "kv_heads * value_dim"},
                          w.value, w.value_bias, storage);
  output = make_projection(target,
                           {"W_O", "b_O", o_width, d_model, "query_heads * value_dim", "d_model"},
                           w.output, w.output_bias, storage);

  for (const WeightView& weight : {w.query, w.key, w.value, w.output})
    parameters += weight.in * weight.out;
  for (const VectorView& vector : {w.query_bias, w.key_bias, w.value_bias, w.output_bias})
    parameters += vector.size;
  if (config.qk_norm) parameters += config.qk_norm->query.size + config.qk_norm->key.size;
}

}  // namespace heed
