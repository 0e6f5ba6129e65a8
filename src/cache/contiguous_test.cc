// KVCache: what it stores, how it grows, what it refuses, and that attention over it is attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cache/cache_case_test.h"

namespace heed {
namespace {

using test::bits;
using test::Case;
using test::contiguous_cache;
using test::expect_exact;
using test::for_each_target;
using test::kInf;
using test::kNaN;
using test::lse_rows;
using test::make_random;
using test::Random;
using test::tokens_of;
using testing::HasSubstr;
using testing::ThrowsMessage;

float element(ConstTensorView t, std::size_t b, std::size_t h, std::size_t i, std::size_t c) {
  const auto at = static_cast<std::ptrdiff_t>(b) * t.batch_stride +
                  static_cast<std::ptrdiff_t>(h) * t.head_stride +
                  static_cast<std::ptrdiff_t>(i) * t.token_stride + static_cast<std::ptrdiff_t>(c);
  switch (t.dtype) {
    case DType::f16: return to_float(static_cast<const f16*>(t.data)[at]);
    case DType::bf16: return to_float(static_cast<const bf16*>(t.data)[at]);
    case DType::i8: return static_cast<const std::int8_t*>(t.data)[at];
    default: return static_cast<const float*>(t.data)[at];
  }
}

float scale(ScaleView s, std::size_t b, std::size_t h, std::size_t i) {
  return s.data[static_cast<std::ptrdiff_t>(b) * s.batch_stride +
                static_cast<std::ptrdiff_t>(h) * s.head_stride +
                static_cast<std::ptrdiff_t>(i) * s.token_stride];
}

float stored_as(DType dtype, float x) {
  if (dtype == DType::f16) return to_float(to_f16(x));
  if (dtype == DType::bf16) return to_float(to_bf16(x));
  return x;
}

TEST(KVCache, KeepsEveryTokenRoundedToItsTypeHoweverItGrows) {
  for (const DType from : {DType::f32, DType::f16, DType::bf16})
    for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
      Random random(1);
      Case c;
      c.batch = 2;
      c.kv_heads = c.query_heads = 3;
      c.n_k = 37;
      c.d_k = 5;
      c.d_v = 4;
      c.kv_type = from;
      c.tokens_first = true;
      c.gap = 1;
      c.make(random);
      const KVCache cache = contiguous_cache(c, to, random);
      ASSERT_EQ(cache.length(), 37u);
      EXPECT_GE(cache.capacity(), 37u);
      EXPECT_EQ(cache.bytes(), cache.capacity() * 2 * 3 * 9 * size_of(to));
      EXPECT_FALSE(cache.key_scales());
      for (std::size_t b = 0; b < 2; ++b)
        for (std::size_t h = 0; h < 3; ++h)
          for (std::size_t t = 0; t < 37; ++t) {
            for (std::size_t d = 0; d < 5; ++d)
              ASSERT_EQ(element(cache.keys(), b, h, t, d), stored_as(to, c.k.get(b, h, t, d)));
            for (std::size_t d = 0; d < 4; ++d)
              ASSERT_EQ(element(cache.values(), b, h, t, d), stored_as(to, c.v.get(b, h, t, d)));
          }
    }
}

TEST(KVCache, TruncateForgetsAndKeepsTheMemory) {
  const std::array<float, 4> x = {1, 2, 3, 4}, y = {5, 6, 7, 8};
  KVCache cache({.kv_heads = 1, .key_dim = 1, .capacity = 4});
  cache.append(bhnd(x.data(), 1, 1, 4, 1), bhnd(y.data(), 1, 1, 4, 1));
  const void* memory = cache.keys().data;
  cache.truncate(1);
  cache.append(bhnd(y.data(), 1, 1, 2, 1), bhnd(x.data(), 1, 1, 2, 1));
  EXPECT_EQ(cache.length(), 3u);
  EXPECT_EQ(cache.keys().data, memory);
  EXPECT_EQ(cache.keys().tokens, 3u);
  EXPECT_EQ(element(cache.keys(), 0, 0, 0, 0), 1);
  EXPECT_EQ(element(cache.keys(), 0, 0, 1, 0), 5);
  EXPECT_EQ(element(cache.values(), 0, 0, 2, 0), 2);
}

TEST(KVCache, ReserveMakesRoomOnce) {
  KVCache cache({.kv_heads = 1, .key_dim = 2});
  EXPECT_EQ(cache.bytes(), 0u);
  cache.reserve(100);
  const void* memory = cache.keys().data;
  const std::array<float, 2> x = {1, 2};
  for (int n = 0; n < 100; ++n)
    cache.append(bhnd(x.data(), 1, 1, 1, 2), bhnd(x.data(), 1, 1, 1, 2));
  EXPECT_EQ(cache.keys().data, memory);
  EXPECT_EQ(cache.capacity(), 100u);
}

// --- int8 ---------------------------------------------------------------------------------------

TEST(KVCache, Int8ErrsByAtMostHalfTheScale) {
  Random random(2);
  Case c;
  c.batch = c.kv_heads = c.query_heads = 2;
  c.n_k = 50;
  c.d_k = 33;
  c.d_v = 20;
  c.make(random, 3.0f);
  const KVCache cache = contiguous_cache(c, DType::i8, random);
  const auto check = [](const test::Stored& from, ConstTensorView rows, ScaleView scales) {
    for (std::size_t b = 0; b < from.batch; ++b)
      for (std::size_t h = 0; h < from.heads; ++h)
        for (std::size_t t = 0; t < from.tokens; ++t) {
          const double s = scale(scales, b, h, t);
          double largest = 0, most_stored = 0;
          for (std::size_t d = 0; d < from.dim; ++d) {
            const double x = from.get(b, h, t, d), stored = element(rows, b, h, t, d);
            largest = std::max(largest, std::abs(x));
            most_stored = std::max(most_stored, std::abs(stored));
            // Half a step, and the rounding of a quotient of up to 127.
            ASSERT_LE(std::abs(x - stored * s), s * (0.5 + 127 * 0x1p-24));
          }
          ASSERT_EQ(most_stored, 127);
          ASSERT_NEAR(s, largest / 127, s * 0x1p-24);
        }
  };
  check(c.k, cache.keys(), cache.key_scales());
  check(c.v, cache.values(), cache.value_scales());
}

TEST(KVCache, Int8RowsOfNothingOfTinyAndOfInfiniteNumbers) {
  const std::array<float, 10> x = {0, 0, 1e-45f, -3e-45f, 2e-38f, 1.0f, 3.0e38f, -1.0f, kNaN, 1.0f};
  KVCache cache({.kv_heads = 1, .key_dim = 2, .dtype = DType::i8});
  cache.append(bhnd(x.data(), 1, 1, 5, 2), bhnd(x.data(), 1, 1, 5, 2));
  const auto read = [&](std::size_t t, std::size_t d) {
    return element(cache.keys(), 0, 0, t, d) * scale(cache.key_scales(), 0, 0, t);
  };
  EXPECT_EQ(read(0, 0), 0);
  EXPECT_NEAR(read(1, 0), 1e-45f, 1e-44);
  EXPECT_NEAR(read(2, 1), 1.0f, 0x1p-23);
  EXPECT_NEAR(read(3, 0), 3.0e38f, 3.0e38 * 0x1p-22);
  EXPECT_TRUE(std::isnan(read(4, 0)));
  EXPECT_TRUE(std::isnan(read(4, 1)));
}

// Attention over int8 rows is attention over the numbers they stand for: as exactly as over floats,
// but for what decode rounds.
TEST(KVCache, AttentionOverInt8IsThatOverTheStoredNumbers) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Random random(seed);
      Case c;
      make_random(random, c, seed % 2 == 0 ? 4 : 30, 300);
      if (!c.cu_k.empty()) continue;
      const KVCache cache = contiguous_cache(c, DType::i8, random);
      take_int8(c, cache);
      attention(c.q.view(), cache, c.out.view(), lse_rows(c), c.options);
      expect_exact(c, test::Made::whole, c.n_q <= 4 ? test::int8_allowed(c) : test::Allowed{});
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << " on " << target;
        return;
      }
    }
  });
}

// A hidden row of NaN leaks from no int8 cache; a visible one propagates.
TEST(KVCache, Int8NaNPropagatesOnlyWhereItIsSeen) {
  for (const std::size_t n_q : {1, 7}) {
    Random random(3);
    Case c;
    c.n_q = n_q;
    c.n_k = 40;
    c.d_k = c.d_v = 8;
    c.make(random);
    c.k.set(0, 0, 39, 3, kNaN);
    c.v.set(0, 0, 38, 2, kInf);
    const KVCache cache = contiguous_cache(c, DType::i8, random);
    const std::vector<std::int64_t> lengths = {38};
    attention(c.q.view(), cache, c.out.view(), {.key_lengths = lengths});
    for (const float x : c.out.f32) EXPECT_TRUE(std::isfinite(x));
    attention(c.q.view(), cache, c.out.view());
    for (const float x : c.out.f32) EXPECT_TRUE(std::isnan(x));
  }
}

// --- Attention ----------------------------------------------------------------------------------

TEST(KVCache, AttentionHasTheBitsOfAttentionOnTensors) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
      Random random(seed);
      Case c;
      make_random(random, c, seed % 2 == 0 ? 4 : 30, seed % 8 == 0 ? 1200 : 90);
      if (!c.cu_k.empty()) continue;
      c.run();
      const auto expected = bits(c);
      const KVCache cache = contiguous_cache(c, c.kv_type, random);
      attention(c.q.view(), cache, c.out.view(), lse_rows(c), c.options);
      ASSERT_EQ(bits(c), expected) << c << ", seed " << seed << " on " << target;
    }
  });
}

TEST(KVCache, AnEmptyCacheGivesZeros) {
  const std::array<float, 4> q = {1, 2, 3, 4};
  std::array<float, 4> out = {9, 9, 9, 9};
  std::array<float, 2> lse = {9, 9};
  const KVCache cache({.kv_heads = 1, .key_dim = 2, .dtype = DType::i8});
  attention(bhnd(q.data(), 1, 1, 2, 2), cache, bhnd(out.data(), 1, 1, 2, 2),
            rows(lse.data(), 1, 2));
  EXPECT_THAT(out, testing::Each(0.0f));
  EXPECT_THAT(lse, testing::Each(-kInf));
}

// --- Errors -------------------------------------------------------------------------------------

template <class F>
void expect_error(F&& f, const char* text) {
  EXPECT_THAT(std::forward<F>(f), ThrowsMessage<Error>(HasSubstr(text)));
}

TEST(KVCache, RefusesWrongShapesAndStaysAsItWas) {
  const std::vector<float> x(64, 1.0f);
  const double wide[8] = {};
  KVCache cache({.batch = 2, .kv_heads = 2, .key_dim = 4, .value_dim = 3});
  const auto k = bhnd(x.data(), 2, 2, 1, 4), v = bhnd(x.data(), 2, 2, 1, 3);
  cache.append(k, v);
  expect_error([&] { cache.append(bhnd(x.data(), 1, 2, 1, 4), v); },
               "append: key has batch 1, expected 2");
  expect_error([&] { cache.append(bhnd(x.data(), 2, 3, 1, 4), v); },
               "append: key has 3 heads but the cache has 2");
  expect_error([&] { cache.append(k, bhnd(x.data(), 2, 2, 1, 4)); },
               "append: value has head_dim 4 but the cache has 3");
  expect_error([&] { cache.append(bhnd(x.data(), 2, 2, 2, 4), v); },
               "append: key has 2 tokens but value has 1");
  expect_error([&] { cache.append(bhnd(wide, 2, 2, 0, 4), v); },
               "append: key has dtype f64, expected f32, f16 or bf16");
  expect_error([&] { cache.append(bhnd(static_cast<float*>(nullptr), 2, 2, 1, 4), v); },
               "key has no data");
  expect_error([&] { cache.truncate(2); }, "truncate: length is 2 but the cache has 1 tokens");
  ConstTensorView endless = k, endless_v = v;
  endless.tokens = endless_v.tokens = std::size_t{1} << 61;
  endless.token_stride = endless_v.token_stride = 0;
  expect_error([&] { cache.append(endless, endless_v); }, "elements do not fit in memory");
  EXPECT_EQ(cache.length(), 1u);
}

// What they read may move while they are appended.
TEST(KVCache, RefusesViewsOfItself) {
  const std::vector<float> x(64, 1.0f);
  KVCache cache({.batch = 1, .kv_heads = 2, .key_dim = 4, .capacity = 8});
  const auto k = bhnd(x.data(), 1, 2, 2, 4);
  cache.append(k, k);
  ConstTensorView last = cache.keys();
  last.data = static_cast<const float*>(last.data) + 4;
  last.tokens = 1;
  const auto one = bhnd(x.data(), 1, 2, 1, 4);
  expect_error([&] { cache.append(last, one); },
               "append: cache.keys shares memory with key, which begins 16 bytes after it");
  expect_error([&] { cache.append(k, cache.values()); },
               "append: cache.values shares memory with value: both begin at the same place");
  expect_error([&] { cache.append(cache.values(), k); },
               "append: cache.values shares memory with key");
  EXPECT_EQ(cache.length(), 2u);
  KVCache other({.batch = 1, .kv_heads = 2, .key_dim = 4});
  other.append(cache.keys(), cache.values());
  EXPECT_EQ(other.length(), 2u);
}

TEST(KVCache, RefusesSizesThatAreNone) {
  expect_error([] { KVCache({.batch = 0, .kv_heads = 1, .key_dim = 1}); },
               "KVCache: batch is 0, expected at least 1");
  expect_error([] { KVCache({.kv_heads = 0, .key_dim = 1}); }, "KVCache: kv_heads is 0");
  expect_error([] { KVCache({.kv_heads = 1, .key_dim = 0}); }, "KVCache: key_dim is 0");
  expect_error([] { KVCache({.kv_heads = 1, .key_dim = 1, .value_dim = 0}); },
               "KVCache: value_dim is 0");
  expect_error([] { KVCache({.kv_heads = 1, .key_dim = 1, .dtype = DType::f64}); },
               "KVCache: dtype is f64, expected f32, f16, bf16 or i8");
  const std::size_t many = std::size_t{1} << 32;
  expect_error([&] { KVCache({.batch = many, .kv_heads = many, .key_dim = 1, .capacity = 1}); },
               "KVCache: keys: 4294967296 x 4294967296 x 1 x 1 x 4 elements do not fit in memory");
}

TEST(KVCache, AttentionRefusesWhatDoesNotFitTheCache) {
  std::vector<float> x(64, 1.0f);
  KVCache cache({.batch = 2, .kv_heads = 2, .key_dim = 4, .value_dim = 3});
  cache.append(bhnd(x.data(), 2, 2, 1, 4), bhnd(x.data(), 2, 2, 1, 3));
  const auto q = bhnd(x.data(), 2, 2, 1, 4), out = bhnd(x.data(), 2, 2, 1, 3);
  expect_error([&] { attention(bhnd(x.data(), 2, 2, 1, 5), cache, out); },
               "attention: query has head_dim 5 but key has 4");
  expect_error([&] { attention(bhnd(x.data(), 1, 2, 1, 4), cache, out); },
               "attention: query has batch 1 but key has 2");
  expect_error([&] { attention(bhnd(x.data(), 2, 3, 1, 4), cache, out); },
               "query has 3 heads, which is not a multiple of key's 2");
  expect_error([&] { attention(q, cache, bhnd(x.data(), 2, 2, 1, 4)); },
               "value has head_dim 3 but out has 4");
  const std::vector<std::int64_t> cu = {0, 1, 2};
  expect_error([&] { attention(q, cache, out, {.cu_seqlens_q = cu}); },
               "cu_seqlens has 3 values but the 2 sequences of a KVCache have one length");
}

}  // namespace
}  // namespace heed
