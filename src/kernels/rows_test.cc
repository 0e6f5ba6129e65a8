// Keys and values that do not lie in one tensor: pages and bytes, through both kernels.
#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kernels/int8_case_test.h"
#include "kernels/random_case_test.h"
#include "kernels/run.h"

namespace heed {
namespace {

using kernels::RowStore;
using test::bits;
using test::Case;
using test::expect_exact;
using test::for_each_target;
using test::kNaN;
using test::make_random;
using test::Random;
using test::Stored;

std::ptrdiff_t stride(std::size_t n) {
  return static_cast<std::ptrdiff_t>(n);
}

// Rows [batch, heads, tokens, dim] one after the other; with scales if they are bytes.
struct Packed {
  DType dtype = DType::f32;
  std::size_t batch = 0, heads = 0, tokens = 0, dim = 0;
  std::vector<std::byte> bytes;
  std::vector<float> scales;  // [batch, heads, tokens]

  std::size_t row_bytes() const { return dim * size_of(dtype); }
  std::size_t row(std::size_t b, std::size_t h, std::size_t t) const {
    return (b * heads + h) * tokens + t;
  }
  RowStore store() const {
    RowStore s;
    s.dtype = dtype;
    s.data = bytes.data();
    s.dim = dim;
    s.batch_stride = stride(heads * tokens * dim);
    s.head_stride = stride(tokens * dim);
    s.token_stride = stride(dim);
    if (scales.empty()) return s;
    s.scales = scales.data();
    s.scale_batch_stride = stride(heads * tokens);
    s.scale_head_stride = stride(tokens);
    s.scale_token_stride = 1;
    return s;
  }
};

Packed empty_like(const Stored& s, DType dtype) {
  Packed p{dtype, s.batch, s.heads, s.tokens, s.dim, {}, {}};
  p.bytes.resize(s.batch * s.heads * s.tokens * p.row_bytes());
  return p;
}

Packed pack(Stored& s) {
  Packed p = empty_like(s, s.dtype);
  for (std::size_t b = 0; b < s.batch; ++b)
    for (std::size_t h = 0; h < s.heads; ++h)
      for (std::size_t t = 0; t < s.tokens; ++t)
        std::memcpy(p.bytes.data() + p.row(b, h, t) * p.row_bytes(),
                    static_cast<std::byte*>(s.view().data) + s.offset(b, h, t) * size_of(s.dtype),
                    p.row_bytes());
  return p;
}

// Rounds what is stored to bytes, and leaves there what these stand for: a scale of 8 bits times 7
// bits is a float exactly.
Packed quantise(Stored& s) {
  Packed p = empty_like(s, DType::i8);
  p.scales.resize(s.batch * s.heads * s.tokens);
  for (std::size_t b = 0; b < s.batch; ++b)
    for (std::size_t h = 0; h < s.heads; ++h)
      for (std::size_t t = 0; t < s.tokens; ++t) {
        float most = 0;
        for (std::size_t c = 0; c < s.dim; ++c) most = std::max(most, std::abs(s.get(b, h, t, c)));
        const float scale = to_float(to_bf16(most / 120));
        const std::size_t row = p.row(b, h, t);
        p.scales[row] = scale;
        for (std::size_t c = 0; c < s.dim; ++c) {
          const float x = scale == 0 ? 0 : std::nearbyint(s.get(b, h, t, c) / scale);
          p.bytes[row * s.dim + c] = static_cast<std::byte>(static_cast<std::int8_t>(x));
          s.set(b, h, t, c, x * scale);
        }
      }
  return p;
}

// The same rows in pages [pages, heads, page_tokens, dim] in a random order. What no token fills is
// NaN: whoever reads it shows it.
struct Paged {
  Packed from;
  std::size_t page_tokens, pages_each;
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  std::vector<std::int32_t> table;

  Paged(const Packed& p, std::size_t size, Random& random)
      : from(p),
        page_tokens(size),
        pages_each((p.tokens + size - 1) / size),
        table(p.batch * pages_each + 3) {
    std::iota(table.begin(), table.end(), 0);
    for (std::size_t n = table.size(); n > 1; --n) std::swap(table[n - 1], table[random.below(n)]);
    const std::size_t rows = table.size() * p.heads * size;
    bytes.assign(rows * p.row_bytes(), std::byte{0xff});
    if (!p.scales.empty()) scales.assign(rows, kNaN);
    for (std::size_t b = 0; b < p.batch; ++b)
      for (std::size_t h = 0; h < p.heads; ++h)
        for (std::size_t t = 0; t < p.tokens; ++t) {
          const auto page = static_cast<std::size_t>(table[b * pages_each + t / size]);
          const std::size_t to = (page * p.heads + h) * size + t % size;
          std::memcpy(bytes.data() + to * p.row_bytes(),
                      p.bytes.data() + p.row(b, h, t) * p.row_bytes(), p.row_bytes());
          if (!p.scales.empty()) scales[to] = p.scales[p.row(b, h, t)];
        }
  }

  RowStore store() const {
    Packed page = from;
    page.tokens = page_tokens;  // strides of a page are those of a batch row of so many tokens
    RowStore s = page.store();
    s.data = bytes.data();
    if (s.scales != nullptr) s.scales = scales.data();
    s.block_table = table.data();
    s.table_stride = pages_each;
    s.page_tokens = page_tokens;
    return s;
  }
};

void run(Case& c, const RowStore& k, const RowStore& v, std::size_t threads = 1) {
  const Problem problem = describe(c.q.view(), c.k.view(), c.v.view(), c.options);
  const kernels::Run operands = {&problem, &c.options,   c.q.view(),
                                 {k, v},   c.out.view(), rows(c.lse.data(), c.query_heads, c.n_q)};
  kernels::Runner(operands, problem.most_queries, problem.most_keys, {.threads = threads})
      .run(operands);
}

// Every option, on both kernels: up to 4 queries are decoded. Ragged batches have no pages here.
void make_padded(Random& random, Case& c, std::size_t most_queries, std::size_t most_keys) {
  do {
    c = Case();
    make_random(random, c, most_queries, most_keys);
  } while (!c.cu_q.empty());
}

TEST(Rows, PagesGiveTheBitsOfOneTensor) {
  for_each_target([](const std::string&) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Random random(seed);
      Case c;
      make_padded(random, c, seed % 2 == 0 ? 4 : 60, seed % 3 == 0 ? 1300 : 90);
      c.run();
      const auto expected = bits(c);
      const Packed k = pack(c.k), v = pack(c.v);
      const std::size_t size = random.pick<std::size_t>({1, 2, 3, 8, 16, 64, 300});
      const Paged k_pages(k, size, random);
      Paged v_pages(v, size, random);
      run(c, k_pages.store(), v_pages.store(), 1 + seed % 3);
      EXPECT_EQ(bits(c), expected) << c << ", pages of " << size << ", seed " << seed;
      run(c, k.store(), v.store());
      EXPECT_EQ(bits(c), expected) << c << ", seed " << seed;
    }
  });
}

// What decode rounds is allowed for; prefill rounds nothing.
void expect_exact_over_int8(Case& c) {
  expect_exact(c, test::Made::whole, c.n_q <= 4 ? test::int8_allowed(c) : test::Allowed{});
}

TEST(Rows, BytesAreWhatTheyStandFor) {
  for_each_target([](const std::string&) {
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
      Random random(100 + seed);
      Case c;
      make_padded(random, c, seed % 2 == 0 ? 4 : 60, seed % 5 == 0 ? 1300 : 90);
      if (c.kv_type != DType::f32) continue;  // what bytes stand for needs all the bits of a float
      const Packed k = quantise(c.k), v = quantise(c.v);
      run(c, k.store(), v.store());
      expect_exact_over_int8(c);
      const auto expected = bits(c);
      run(c, Paged(k, 16, random).store(), Paged(v, 16, random).store(), 2);
      EXPECT_EQ(bits(c), expected) << c << ", seed " << seed;
    }
  });
}

// A row of a scale that is not a number is one no more; hidden it never leaks.
TEST(Rows, AScaleThatIsNotANumberIsSeenOnlyWhereItsKeyIs) {
  for_each_target([](const std::string&) {
    for (const std::size_t n_q : {1, 40}) {
      Random random(7);
      Case c;
      c.query_heads = 4;
      c.n_q = n_q;
      c.n_k = 200;
      c.d_k = c.d_v = 16;
      c.make(random);
      c.mask.assign(200, 1);
      c.mask[150] = 0;
      c.options.mask = scores(c.mask.data(), 1, 1, 1, 200);
      Packed k = quantise(c.k), v = quantise(c.v);
      k.scales[150] = v.scales[150] = kNaN;
      run(c, k.store(), v.store());
      expect_exact_over_int8(c);
      c.options.mask = {};
      run(c, k.store(), v.store());
      for (std::size_t h = 0; h < 4; ++h)
        for (std::size_t i = 0; i < n_q; ++i) EXPECT_TRUE(std::isnan(c.out_at(0, h, i, 0)));
    }
  });
}

}  // namespace
}  // namespace heed
