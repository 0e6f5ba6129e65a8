// For the tests of the caches: a random problem of the kernels' tests, its keys and values put into
// caches.
#pragma once

#include <vector>

#include "heed/kv_cache.h"
#include "kernels/int8_case_test.h"
#include "kernels/random_case_test.h"

namespace heed::test {

using Bits = std::vector<unsigned char>;

// Tokens [first, first + count) of batch row b, or of all of them.
inline ConstTensorView tokens_of(ConstTensorView t, std::size_t first, std::size_t count) {
  t.data = static_cast<const std::byte*>(t.data) +
           static_cast<std::ptrdiff_t>(first * size_of(t.dtype)) * t.token_stride;
  t.tokens = count;
  return t;
}
inline ConstTensorView tokens_of(ConstTensorView t, std::size_t b, std::size_t first,
                                 std::size_t count) {
  t.data = static_cast<const std::byte*>(t.data) +
           static_cast<std::ptrdiff_t>(b * size_of(t.dtype)) * t.batch_stride;
  t.batch = 1;
  return tokens_of(t, first, count);
}

inline RowView lse_rows(Case& c) {
  return rows(c.lse.data(), c.query_heads, c.n_q);
}

// The keys and values of a padded case, appended in pieces.
inline KVCache contiguous_cache(Case& c, DType dtype, Random& random) {
  KVCache cache({.batch = c.batch,
                 .kv_heads = c.kv_heads,
                 .key_dim = c.d_k,
                 .value_dim = c.d_v,
                 .dtype = dtype,
                 .capacity = random.below(4)});
  while (cache.length() < c.n_k) {
    const std::size_t begin = cache.length(), n = random.below(c.n_k - begin + 1);
    cache.append(tokens_of(c.k.view(), begin, n), tokens_of(c.v.view(), begin, n));
  }
  return cache;
}

// One row of an int8 cache is integers times a scale: the numbers they stand for, as f32.
inline void take_int8(Stored& to, ConstTensorView rows, ScaleView scales) {
  to.dtype = DType::f32;
  to.allocate();
  for (std::size_t b = 0; b < to.batch; ++b)
    for (std::size_t h = 0; h < to.heads; ++h)
      for (std::size_t t = 0; t < to.tokens; ++t) {
        const auto at = [&](const auto& view) {
          return static_cast<std::ptrdiff_t>(b) * view.batch_stride +
                 static_cast<std::ptrdiff_t>(h) * view.head_stride +
                 static_cast<std::ptrdiff_t>(t) * view.token_stride;
        };
        const auto* row = static_cast<const std::int8_t*>(rows.data) + at(rows);
        for (std::size_t c = 0; c < to.dim; ++c)
          to.set(b, h, t, c, static_cast<float>(row[c]) * scales.data[at(scales)]);
      }
}
inline void take_int8(Case& c, const KVCache& cache) {
  take_int8(c.k, cache.keys(), cache.key_scales());
  take_int8(c.v, cache.values(), cache.value_scales());
}

// Fills every slot of an empty cache with NaN, so that whoever reads an unwritten one shows it.
inline void poison(PagedKVCache& cache) {
  const std::size_t n = cache.pages() * cache.page_size();
  const std::vector<float> nan(std::max(cache.key_dim(), cache.value_dim()), kNaN);
  ConstTensorView rows = bhnd(nan.data(), 1, cache.kv_heads(), n, cache.key_dim());
  rows.batch_stride = rows.head_stride = rows.token_stride = 0;
  ConstTensorView values = rows;
  values.dim = cache.value_dim();
  const SequenceId id = cache.add();
  cache.append(id, rows, values);
  cache.remove(id);
}

// The keys and values of a case in pages, one sequence for each of its own, written in turns so
// that the pages of a sequence lie apart.
struct PagedCase {
  PagedKVCache cache;
  std::vector<SequenceId> ids;

  PagedCase(Case& c, DType dtype, std::size_t page_size, Random& random)
      : cache({.kv_heads = c.kv_heads,
               .key_dim = c.d_k,
               .value_dim = c.d_v,
               .dtype = dtype,
               .pages = pages_of(c, page_size),
               .page_size = page_size}) {
    poison(cache);
    for (std::size_t n = 0; n < c.sequences(); ++n) ids.push_back(cache.add());
    for (bool more = true; more;) {
      more = false;
      for (std::size_t n = 0; n < ids.size(); ++n) {
        const std::size_t begin = cache.length(ids[n]);
        const std::size_t count = random.below(keys(c, n) - begin + 1);
        const std::size_t b = c.cu_k.empty() ? n : 0;
        const std::size_t at = begin + (c.cu_k.empty() ? 0 : static_cast<std::size_t>(c.cu_k[n]));
        cache.append(ids[n], tokens_of(c.k.view(), b, at, count),
                     tokens_of(c.v.view(), b, at, count));
        more = more || begin + count < keys(c, n);
      }
    }
  }

  static std::size_t keys(const Case& c, std::size_t n) {
    return c.cu_k.empty() ? c.n_k : static_cast<std::size_t>(c.cu_k[n + 1] - c.cu_k[n]);
  }
  static std::size_t pages_of(const Case& c, std::size_t page_size) {
    std::size_t pages = 1;
    for (std::size_t n = 0; n < c.sequences(); ++n)
      pages += (keys(c, n) + page_size - 1) / page_size;
    return pages;
  }
  static AttentionOptions options(const Case& c) {
    AttentionOptions o = c.options;
    o.cu_seqlens_k = {};  // the cache knows
    return o;
  }
  void run(Case& c, const Execution& execution = {}) const {
    attention(c.q.view(), cache, ids, c.out.view(), lse_rows(c), options(c), execution);
  }
};

}  // namespace heed::test
