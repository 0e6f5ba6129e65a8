// Decode over int8 multiplies integers: queries and weights are rounded to 16 bits on the way.
// Where they are such integers already, the result is exact; elsewhere it errs as rounding does;
// and what cannot be rounded is left as it is.
#include <gtest/gtest.h>

#include <cmath>

#include "cache/cache_case_test.h"

namespace heed {
namespace {

using test::Bits;
using test::bits;
using test::Case;
using test::contiguous_cache;
using test::expect_exact;
using test::for_each_target;
using test::int8_allowed;
using test::int8_allowed_on_grid;
using test::kInf;
using test::kNaN;
using test::lse_rows;
using test::Made;
using test::PagedCase;
using test::Random;
using test::tokens_of;

// Decodes over an int8 cache of the keys and values; the case then holds what the bytes stand for.
void run_int8(Case& c, Random& random, const Execution& execution = {}) {
  const KVCache cache = contiguous_cache(c, DType::i8, random);
  take_int8(c, cache);
  attention(c.q.view(), cache, c.out.view(), lse_rows(c), c.options, execution);
}

Case case_of(Random& random, std::size_t rows, std::size_t n_k, std::size_t d_k, std::size_t d_v) {
  Case c;
  c.query_heads = rows;
  c.n_k = n_k;
  c.d_k = d_k;
  c.d_v = d_v;
  c.make(random);
  return c;
}

template <class F>
void for_each_query(Case& c, F&& f) {
  for (std::size_t h = 0; h < c.query_heads; ++h)
    for (std::size_t x = 0; x < c.d_k; ++x) c.q.set(0, h, 0, x, f(h, x));
}

// Queries of multiples of 2^-14, one of them 32767: what they are rounded to.
void put_queries_on_grid(Case& c, Random& random) {
  for_each_query(c, [&](std::size_t, std::size_t x) {
    const std::int64_t steps = x == c.d_k / 2 ? -32767 : random.between(-32767, 32767);
    return 0x1p-14f * static_cast<float>(steps);
  });
}

TEST(Int8Decode, IsExactForQueriesAndWeightsThatAreIntegers) {
  for_each_target([](const std::string&) {
    Random random(1);
    const auto check = [&](std::size_t dim) {
      Case c = case_of(random, 1 + dim % 6, 1 + dim % 11, dim, 3);
      put_queries_on_grid(c, random);
      run_int8(c, random);
      expect_exact(c, Made::whole, int8_allowed_on_grid(c));

      // Keys of 0 give equal weights, and values with a largest of 127 steps equal scales.
      Case values = case_of(random, 1 + dim % 6, 1 + random.below(300), 3, dim);
      test::set_keys(values, [](std::size_t, std::size_t) { return 0.0f; });
      for (std::size_t j = 0; j < values.n_k; ++j)
        for (std::size_t x = 0; x < dim; ++x)
          values.v.set(
              0, 0, j, x,
              0x1p-5f * static_cast<float>(x == dim / 2 ? 127 : random.between(-127, 127)));
      run_int8(values, random);
      expect_exact(values);
    };
    test::for_each_dim(check);
    for (const std::size_t dim : {513, 700}) check(dim);  // too long for sums of 32 bits
  });
}

// All of 512 products at their largest are less than 2^31.
TEST(Int8Decode, TheLargestSumsFit) {
  for_each_target([](const std::string&) {
    Random random(2);
    for (const std::size_t dim : {511, 512, 513}) {
      Case c = case_of(random, 4, 512, dim, 20);
      for_each_query(c, [](std::size_t h, std::size_t) { return h % 2 == 0 ? 0.001f : -0.001f; });
      test::set_keys(c, [](std::size_t j, std::size_t) { return j % 3 == 0 ? 127.0f : -127.0f; });
      c.v.fill([] { return 127.0f; });
      run_int8(c, random);
      expect_exact(c, Made::whole, int8_allowed_on_grid(c));
    }
  });
}

TEST(Int8Decode, AdversarialScores) {
  for_each_target([](const std::string&) {
    Random random(3);
    test::for_each_adversarial_key(random, [&](auto&& key) {
      Case c = case_of(random, 3, 1500, 8, 12);
      put_queries_on_grid(c, random);
      test::set_keys(c, key);
      run_int8(c, random);
      expect_exact(c, Made::whole, int8_allowed_on_grid(c));
    });
  });
}

// To first order o' - o = sum_c e_c sum_j p_j k_jc (v_j - o) + sum_j f_j v_j, where e_c, the error
// of q_c, is spread evenly over a step of q, and f_j over a step of the weights of its block; v_j
// in multiples of its scale. Evenly over a step is a variance of step^2 / 12.
TEST(Int8Decode, ErrsAsIndependentRoundingDoes) {
  for_each_target([](const std::string& target) {
    Random random(4);
    constexpr std::size_t kHeads = 8, kKeys = 500, kDim = 64, kBlock = 128;
    Case c = case_of(random, kHeads, kKeys, kDim, kDim);
    run_int8(c, random);
    const auto truth = c.oracle<double>();
    std::vector<double> scale(kKeys, 0.0);
    for (std::size_t j = 0; j < kKeys; ++j)
      for (std::size_t x = 0; x < kDim; ++x)
        scale[j] = std::max(scale[j], std::abs(double{c.v.get(0, 0, j, x)}) / 127);
    double expected = 0, measured = 0, bias = 0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      double largest = 0;
      for (std::size_t x = 0; x < kDim; ++x)
        largest = std::max(largest, std::abs(double{c.q.get(0, h, 0, x)}));
      const double q_step = largest / 32767 / std::sqrt(double{kDim});
      const auto p = [&](std::size_t j) { return truth.p.at(0, h, 0, j); };
      for (std::size_t d = 0; d < kDim; ++d) {
        const double o = truth.o.at(0, h, 0, d);
        for (std::size_t x = 0; x < kDim; ++x) {
          double sum = 0;
          for (std::size_t j = 0; j < kKeys; ++j)
            sum += p(j) * c.k.get(0, 0, j, x) * (c.v.get(0, 0, j, d) - o);
          expected += std::pow(q_step * sum, 2) / 12;
        }
        for (std::size_t block = 0; block < kKeys; block += kBlock) {
          double weight = 0, squares = 0;
          for (std::size_t j = block; j < std::min(block + kBlock, kKeys); ++j) {
            weight = std::max(weight, p(j) * scale[j]);
            squares += std::pow(c.v.get(0, 0, j, d) / scale[j], 2);
          }
          expected += std::pow(weight / 32767, 2) / 12 * squares;
        }
        const double error = c.out.get(0, h, 0, d) - o;
        measured += error * error;
        bias += error;
      }
    }
    // 512 errors, 64 of a row from the same weights: within a factor of 1.5, the mean within 4 of
    // its standard deviations.
    const double count = kHeads * kDim;
    EXPECT_LT(measured, 1.5 * expected);
    EXPECT_LT(std::abs(bias / count), 4 * std::sqrt(expected / count / kHeads));
    if (target != "SCALAR" && target.rfind("NEON", 0) != 0) {  // those multiply floats
      EXPECT_GT(measured, expected / 1.5);
    }
  });
}

// --- What cannot be rounded ---------------------------------------------------------------------

TEST(Int8Decode, QueriesOfEverySize) {
  for_each_target([](const std::string&) {
    for (const float size : {0.0f, 1e-44f, 1e-38f, 1e-20f, 1e-18f, 1e18f, 1e30f}) {
      Random random(5);
      Case c = case_of(random, 4, 300, 40, 24);
      for_each_query(c, [&](std::size_t, std::size_t) { return size * random.normal(); });
      c.options.scale = size > 1 ? 1 / size : 1.0f;
      run_int8(c, random);
      expect_exact(c, Made::whole, int8_allowed(c));
    }
  });
}

// One element of a query, or one value, is far larger than the others.
TEST(Int8Decode, OutliersKeepTheBound) {
  for_each_target([](const std::string&) {
    Random random(6);
    Case query = case_of(random, 4, 300, 40, 24);
    query.q.set(0, 1, 0, 7, 3e4f);
    query.options.scale = 1e-4f;
    run_int8(query, random);
    expect_exact(query, Made::whole, int8_allowed(query));

    Case value = case_of(random, 4, 300, 40, 24);
    for (std::size_t x = 0; x < 24; ++x) value.v.set(0, 0, 123, x, 1e6f * random.normal());
    run_int8(value, random);
    expect_exact(value, Made::whole, int8_allowed(value));
  });
}

TEST(Int8Decode, ValuesOfEverySize) {
  for_each_target([](const std::string&) {
    for (const float size : {0.0f, 1e-35f, 1e-30f, 1e-18f, 1e-16f, 1e18f, 1e30f}) {
      Random random(7);
      Case c = case_of(random, 4, 300, 40, 24);
      c.v.fill([&] { return size * random.normal(); });
      run_int8(c, random);
      expect_exact(c, Made::whole, int8_allowed(c));
    }
  });
}

// Weights far below the largest, some of them below any float: they must not disturb the rest.
TEST(Int8Decode, WeightsThatVanish) {
  for_each_target([](const std::string&) {
    Random random(8);
    Case c = case_of(random, 4, 900, 8, 24);
    put_queries_on_grid(c, random);
    for_each_query(c, [](std::size_t, std::size_t x) { return x == 0 ? 1.0f : 0.0f; });
    test::set_keys(c, [](std::size_t j, std::size_t) { return 0.5f * static_cast<float>(j); });
    run_int8(c, random);
    expect_exact(c, Made::whole, int8_allowed_on_grid(c));
  });
}

// Infinity and NaN give what the oracle says: with a soft-cap or a sink that may be a number.
TEST(Int8Decode, QueriesThatAreNotFinite) {
  for_each_target([](const std::string&) {
    for (const float bad : {kInf, -kInf, kNaN})
      for (const int how : {0, 1, 2}) {
        Random random(9);
        Case c = case_of(random, 6, 300, 40, 24);
        test::set_keys(c, [](std::size_t j, std::size_t x) {
          return x == 5 ? -1.0f : 0.01f * static_cast<float>((j + x) % 7);
        });
        c.q.set(0, 2, 0, 5, bad);
        if (how == 1) c.options.softcap = 2.0f;
        c.sinks.assign(6, 0.5f);
        if (how == 2) c.options.sinks = c.sinks;
        run_int8(c, random);
        expect_exact(c, Made::whole, int8_allowed(c));
      }
  });
}

TEST(Int8Decode, ARowThatIsNotFiniteLeavesTheOthersTheirBits) {
  for_each_target([](const std::string&) {
    Random random(10);
    Case c = case_of(random, 4, 700, 40, 24);
    const KVCache cache = contiguous_cache(c, DType::i8, random);
    attention(c.q.view(), cache, c.out.view(), lse_rows(c));
    const std::vector<float> before = c.out.f32;
    c.q.set(0, 2, 0, 5, kInf);
    attention(c.q.view(), cache, c.out.view(), lse_rows(c));
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t x = 0; x < 24; ++x) {
        if (h == 2)
          EXPECT_TRUE(std::isnan(c.out_at(0, h, 0, x)));
        else
          EXPECT_EQ(c.out_at(0, h, 0, x), before[h * 24 + x]);
      }
  });
}

// A hidden row whose scale is NaN leaks nothing, wherever it lies in a block.
TEST(Int8Decode, HiddenNanNeverLeaks) {
  for_each_target([](const std::string&) {
    for (const std::size_t hidden : {0, 127, 128, 300}) {
      Random random(11);
      Case c = case_of(random, 4, 400, 24, 24);
      for (std::size_t x = 0; x < 24; ++x) {
        c.k.set(0, 0, hidden, x, kNaN);
        c.v.set(0, 0, hidden, x, kNaN);
      }
      c.mask.assign(400, 1);
      c.mask[hidden] = 0;
      c.options.mask = scores(c.mask.data(), 1, 1, 1, 400);
      run_int8(c, random);
      expect_exact(c, Made::whole, int8_allowed(c));
      EXPECT_TRUE(std::isfinite(c.out_at(0, 0, 0, 0)));
    }
  });
}

// --- The same bits ------------------------------------------------------------------------------

TEST(Int8Decode, TheSameBitsForAnyNumberOfThreadsAndAnyPages) {
  for (const std::size_t batch : {1, 9}) {
    Random random(12);
    Case c;
    c.batch = batch;
    c.query_heads = 4;
    c.kv_heads = 2;
    c.n_k = 3000;
    c.d_k = c.d_v = 40;
    c.make(random);
    const KVCache cache = contiguous_cache(c, DType::i8, random);
    attention(c.q.view(), cache, c.out.view(), lse_rows(c), {}, {.threads = 1});
    const Bits expected = bits(c);
    for (const std::size_t threads : {2, 3, 8}) {
      attention(c.q.view(), cache, c.out.view(), lse_rows(c), {}, {.threads = threads});
      EXPECT_EQ(bits(c), expected) << threads << " threads";
    }
    for (const std::size_t page_size : {3, 64, 100}) {
      PagedCase(c, DType::i8, page_size, random).run(c, {.threads = 2});
      EXPECT_EQ(bits(c), expected) << "pages of " << page_size;
    }
  }
}

TEST(Int8Decode, TheSameBitsAloneAndInABatch) {
  Random random(13);
  Case c;
  c.batch = 3;
  c.query_heads = 6;
  c.kv_heads = 2;
  c.n_q = 2;
  c.n_k = 1700;
  c.d_k = 24;
  c.d_v = 40;
  c.make(random);
  c.lengths = {1700, 600, 3};
  c.options.key_lengths = c.lengths;
  c.options.causal = Causal::lower_right;
  attention(c.q.view(), contiguous_cache(c, DType::i8, random), c.out.view(), c.options);
  for (std::size_t b = 0; b < c.batch; ++b) {
    const auto keys = static_cast<std::size_t>(c.lengths[b]);
    KVCache cache({.kv_heads = 2, .key_dim = 24, .value_dim = 40, .dtype = DType::i8});
    cache.append(tokens_of(c.k.view(), b, 0, keys), tokens_of(c.v.view(), b, 0, keys));
    std::vector<float> alone(c.query_heads * c.n_q * c.d_v);
    attention(tokens_of(c.q.view(), b, 0, c.n_q), cache,
              bhnd(alone.data(), 1, c.query_heads, c.n_q, c.d_v), {.causal = Causal::lower_right});
    for (std::size_t n = 0; n < alone.size(); ++n)
      ASSERT_EQ(alone[n], c.out.f32[b * alone.size() + n]) << b << " " << n;
  }
}

}  // namespace
}  // namespace heed
