// Caches through C.
#include "capi/convert.h"
#include "heed/kv_cache.h"

using heed::capi::array;
using heed::capi::dtype_from;
using heed::capi::fill;
using heed::capi::given;
using heed::capi::guarded;
using heed::capi::not_null;
using heed::capi::Options;
using heed::capi::row_view;
using heed::capi::tensor;
using heed::capi::versioned;

struct heed_kv_cache {
  heed::KVCache cache;
};
struct heed_paged_cache {
  heed::PagedKVCache cache;
};

namespace {

heed_dtype dtype_to(heed::DType dtype) {
  switch (dtype) {
    case heed::DType::f16: return HEED_F16;
    case heed::DType::bf16: return HEED_BF16;
    case heed::DType::i8: return HEED_I8;
    default: return HEED_F32;
  }
}

heed_tensor rows_to(heed::ConstTensorView rows) {
  return {const_cast<void*>(rows.data),
          dtype_to(rows.dtype),
          rows.batch,
          rows.heads,
          rows.tokens,
          rows.dim,
          rows.batch_stride,
          rows.head_stride,
          rows.token_stride};
}

void fill_view(heed_kv_view& to, heed::ConstTensorView keys, heed::ConstTensorView values,
               heed::ScaleView key_scales, heed::ScaleView value_scales) {
  heed_kv_view all = versioned(&to, "heed_kv_view");
  all.keys = rows_to(keys);
  all.values = rows_to(values);
  all.key_scales = key_scales.data;
  all.value_scales = value_scales.data;
  all.scale_batch_stride = key_scales.batch_stride;
  all.scale_head_stride = key_scales.head_stride;
  fill(&to, all);
}

const heed::KVCache& of(const heed_kv_cache* cache) {
  return not_null(cache, "cache").cache;
}
heed::KVCache& of(heed_kv_cache* cache) {
  return not_null(cache, "cache").cache;
}
const heed::PagedKVCache& of(const heed_paged_cache* cache) {
  return not_null(cache, "cache").cache;
}
heed::PagedKVCache& of(heed_paged_cache* cache) {
  return not_null(cache, "cache").cache;
}

}  // namespace

extern "C" {

heed_status heed_kv_cache_create(const heed_kv_cache_config* config, heed_kv_cache** cache) {
  return guarded([&] {
    heed_kv_cache*& result = not_null(cache, "cache");
    not_null(config, "config");
    const heed_kv_cache_config c = versioned(config, "heed_kv_cache_config");
    result = new heed_kv_cache{heed::KVCache({.batch = given(c.batch).value_or(1),
                                              .kv_heads = c.kv_heads,
                                              .key_dim = c.key_dim,
                                              .value_dim = given(c.value_dim),
                                              .dtype = dtype_from(c.dtype, "dtype"),
                                              .capacity = c.capacity})};
  });
}

void heed_kv_cache_free(heed_kv_cache* cache) {
  delete cache;
}

heed_status heed_kv_cache_length(const heed_kv_cache* cache, size_t* tokens) {
  return guarded([&] { not_null(tokens, "tokens") = of(cache).length(); });
}

heed_status heed_kv_cache_get_view(const heed_kv_cache* cache, heed_kv_view* view) {
  return guarded([&] {
    const heed::KVCache& c = of(cache);
    fill_view(not_null(view, "view"), c.keys(), c.values(), c.key_scales(), c.value_scales());
  });
}

heed_status heed_kv_cache_append(heed_kv_cache* cache, const heed_tensor* k, const heed_tensor* v) {
  return guarded([&] { of(cache).append(tensor(k, "k"), tensor(v, "v")); });
}

heed_status heed_kv_cache_truncate(heed_kv_cache* cache, size_t length) {
  return guarded([&] { of(cache).truncate(length); });
}

heed_status heed_kv_cache_attention(const heed_kv_cache* cache, const heed_tensor* q,
                                    const heed_tensor* out, float* lse,
                                    const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    const heed::TensorView o = tensor(out, "out");
    heed::attention(tensor(q, "q"), of(cache), o, row_view(lse, *out), converted.attention,
                    converted.execution);
  });
}

heed_status heed_paged_cache_create(const heed_paged_cache_config* config,
                                    heed_paged_cache** cache) {
  return guarded([&] {
    heed_paged_cache*& result = not_null(cache, "cache");
    not_null(config, "config");
    const heed_paged_cache_config c = versioned(config, "heed_paged_cache_config");
    heed::PagedKVCacheConfig converted = {.kv_heads = c.kv_heads,
                                          .key_dim = c.key_dim,
                                          .value_dim = given(c.value_dim),
                                          .dtype = dtype_from(c.dtype, "dtype"),
                                          .pages = c.pages};
    converted.page_size = given(c.page_size).value_or(converted.page_size);
    result = new heed_paged_cache{heed::PagedKVCache(converted)};
  });
}

void heed_paged_cache_free(heed_paged_cache* cache) {
  delete cache;
}

heed_status heed_paged_cache_get_info(const heed_paged_cache* cache, heed_paged_cache_info* info) {
  return guarded([&] {
    const heed::PagedKVCache& c = of(cache);
    heed_paged_cache_info all = versioned(&not_null(info, "info"), "heed_paged_cache_info");
    all.pages = c.pages();
    all.free_pages = c.free_pages();
    all.page_size = c.page_size();
    all.sequences = c.sequences();
    fill(info, all);
  });
}

heed_status heed_paged_cache_get_view(const heed_paged_cache* cache, heed_kv_view* view) {
  return guarded([&] {
    const heed::PagedKVCache& c = of(cache);
    fill_view(not_null(view, "view"), c.key_pages(), c.value_pages(), c.key_scales(),
              c.value_scales());
  });
}

heed_status heed_paged_cache_add(heed_paged_cache* cache, int64_t* sequence) {
  return guarded([&] { not_null(sequence, "sequence") = of(cache).add(); });
}

heed_status heed_paged_cache_fork(heed_paged_cache* cache, int64_t sequence, const size_t* length,
                                  int64_t* forked) {
  return guarded([&] {
    int64_t& result = not_null(forked, "forked");
    result = of(cache).fork(sequence,
                            length == nullptr ? std::nullopt : std::optional<std::size_t>(*length));
  });
}

heed_status heed_paged_cache_remove(heed_paged_cache* cache, int64_t sequence) {
  return guarded([&] { of(cache).remove(sequence); });
}

heed_status heed_paged_cache_truncate(heed_paged_cache* cache, int64_t sequence, size_t length) {
  return guarded([&] { of(cache).truncate(sequence, length); });
}

heed_status heed_paged_cache_length(const heed_paged_cache* cache, int64_t sequence,
                                    size_t* tokens) {
  return guarded([&] { not_null(tokens, "tokens") = of(cache).length(sequence); });
}

heed_status heed_paged_cache_block_table(const heed_paged_cache* cache, int64_t sequence,
                                         const int32_t** table, size_t* pages) {
  return guarded([&] {
    const auto found = of(cache).block_table(sequence);
    not_null(pages, "pages") = found.size();
    not_null(table, "table") = found.data();
  });
}

heed_status heed_paged_cache_shared_prefix(const heed_paged_cache* cache, const int64_t* sequences,
                                           size_t count, size_t* tokens) {
  return guarded([&] {
    not_null(tokens, "tokens") = of(cache).shared_prefix(array(sequences, count, "sequences"));
  });
}

heed_status heed_paged_cache_append(heed_paged_cache* cache, const int64_t* sequences, size_t count,
                                    const heed_tensor* k, const heed_tensor* v) {
  return guarded([&] {
    of(cache).append(array(sequences, count, "sequences"), tensor(k, "k"), tensor(v, "v"));
  });
}

heed_status heed_paged_cache_attention(const heed_paged_cache* cache, const int64_t* sequences,
                                       size_t count, const heed_tensor* q, const heed_tensor* out,
                                       float* lse, const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    const heed::TensorView o = tensor(out, "out");
    heed::attention(tensor(q, "q"), of(cache), array(sequences, count, "sequences"), o,
                    row_view(lse, *out), converted.attention, converted.execution);
  });
}

heed_status heed_paged_cache_cascade_attention(const heed_paged_cache* cache,
                                               const int64_t* sequences, size_t count,
                                               const heed_tensor* q, const heed_tensor* out,
                                               float* lse, const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    const heed::TensorView o = tensor(out, "out");
    heed::cascade_attention(tensor(q, "q"), of(cache), array(sequences, count, "sequences"), o,
                            row_view(lse, *out), converted.attention, converted.execution);
  });
}

}  // extern "C"
