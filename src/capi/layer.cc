// The multi-head layer through C.
#include "heed/layer.h"

#include "capi/convert.h"

using heed::capi::array;
using heed::capi::dtype_from;
using heed::capi::given;
using heed::capi::guarded;
using heed::capi::not_null;
using heed::capi::Options;
using heed::capi::versioned;

struct heed_layer {
  heed::MultiHeadAttention layer;
};

namespace {

heed::WeightView weight(const heed_matrix& m, const char* what) {
  return {m.data, dtype_from(m.dtype, what), m.in, m.out, m.in_stride, m.out_stride};
}

heed::VectorView vector(const heed_vector& v, const char* what) {
  if (v.data == nullptr) return {};
  return {v.data, dtype_from(v.dtype, what), v.size};
}

heed::SequenceView sequence(const heed_sequence* pointer, const char* what) {
  const heed_sequence& s = not_null(pointer, what);
  return {s.data,        dtype_from(s.dtype, what), s.batch, s.tokens, s.dim, s.batch_stride,
          s.token_stride};
}

heed::RotaryPairs pairs_from(heed_rotary_pairs pairs) {
  switch (pairs) {
    case HEED_HALF_SPLIT: return heed::RotaryPairs::half_split;
    case HEED_INTERLEAVED: return heed::RotaryPairs::interleaved;
  }
  throw heed::Error("rotary pairs is " + std::to_string(static_cast<int>(pairs)) +
                    ", none of the values of heed_rotary_pairs");
}

std::optional<heed::Rotary> rotary_from(const heed_rotary* pointer) {
  if (pointer == nullptr) return {};
  const heed_rotary r = versioned(pointer, "heed_rotary");
  return heed::Rotary{r.base, r.scaling, pairs_from(r.pairs), given(r.dims),
                      array(r.frequencies, r.frequencies_count, "rotary frequencies")};
}

std::optional<heed::QkNorm> qk_norm_from(const heed_qk_norm* pointer) {
  if (pointer == nullptr) return {};
  const heed_qk_norm n = versioned(pointer, "heed_qk_norm");
  return heed::QkNorm{vector(n.query, "qk_norm query"), vector(n.key, "qk_norm key"), n.epsilon};
}

heed::MultiHeadAttention layer_from(const heed_layer_config& c) {
  return {{.d_model = c.d_model,
           .d_context = given(c.d_context),
           .query_heads = c.query_heads,
           .kv_heads = given(c.kv_heads),
           .key_dim = given(c.key_dim),
           .value_dim = given(c.value_dim),
           .rotary = rotary_from(c.rotary),
           .qk_norm = qk_norm_from(c.qk_norm)},
          {.query = weight(c.w_q, "w_q"),
           .key = weight(c.w_k, "w_k"),
           .value = weight(c.w_v, "w_v"),
           .output = weight(c.w_o, "w_o"),
           .query_bias = vector(c.b_q, "b_q"),
           .key_bias = vector(c.b_k, "b_k"),
           .value_bias = vector(c.b_v, "b_v"),
           .output_bias = vector(c.b_o, "b_o")}};
}

}  // namespace

extern "C" {

heed_matrix heed_in_out(const void* data, heed_dtype dtype, size_t in, size_t out) {
  return {data, dtype, in, out, static_cast<ptrdiff_t>(out), 1};
}

heed_matrix heed_out_in(const void* data, heed_dtype dtype, size_t out, size_t in) {
  return {data, dtype, in, out, 1, static_cast<ptrdiff_t>(in)};
}

heed_sequence heed_bnd(const void* data, heed_dtype dtype, size_t batch, size_t tokens,
                       size_t dim) {
  return {
      const_cast<void*>(data),    dtype, batch, tokens, dim, static_cast<ptrdiff_t>(tokens * dim),
      static_cast<ptrdiff_t>(dim)};
}

heed_status heed_layer_create(const heed_layer_config* config, heed_layer** layer) {
  return guarded([&] {
    heed_layer*& result = not_null(layer, "layer");
    not_null(config, "config");
    result = new heed_layer{layer_from(versioned(config, "heed_layer_config"))};
  });
}

heed_status heed_layer_parameter_count(const heed_layer* layer, size_t* count) {
  return guarded(
      [&] { not_null(count, "count") = not_null(layer, "layer").layer.parameter_count(); });
}

heed_status heed_layer_self_attention(const heed_layer* layer, const heed_sequence* x,
                                      const heed_sequence* out, const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    not_null(layer, "layer")
        .layer.self_attention(sequence(x, "x"), sequence(out, "out"),
                              {.attention = converted.attention}, converted.execution);
  });
}

heed_status heed_layer_cross_attention(const heed_layer* layer, const heed_sequence* y,
                                       const heed_sequence* z, const heed_sequence* out,
                                       const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    not_null(layer, "layer")
        .layer.cross_attention(sequence(y, "y"), sequence(z, "z"), sequence(out, "out"),
                               {.attention = converted.attention}, converted.execution);
  });
}

void heed_layer_free(heed_layer* layer) {
  delete layer;
}

}  // extern "C"
