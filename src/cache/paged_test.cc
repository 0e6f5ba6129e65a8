// PagedKVCache: the bits of a contiguous cache, pages shared and copied as they should be, and what
// is refused. Random histories are in paged_model_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cache/cache_case_test.h"

namespace heed {
namespace {

using test::Bits;
using test::bits;
using test::Case;
using test::contiguous_cache;
using test::for_each_target;
using test::lse_rows;
using test::make_random;
using test::PagedCase;
using test::Random;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::array<std::size_t, 3> kPageSizes = {1, 16, 17};

// Decode (even seeds) and prefill (odd ones), any options.
void make_case(Random& random, Case& c, std::uint64_t seed) {
  make_random(random, c, seed % 2 == 0 ? 4 : 30, seed % 10 == 0 ? 1200 : 90);
}

TEST(PagedKVCache, HasTheBitsOfAttentionOnTensors) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Random random(seed);
      Case c;
      make_case(random, c, seed);
      c.run();
      const Bits expected = bits(c);
      for (const std::size_t page_size : kPageSizes) {
        PagedCase(c, c.kv_type, page_size, random).run(c);
        ASSERT_EQ(bits(c), expected)
            << c << ", pages of " << page_size << ", seed " << seed << " on " << target;
      }
    }
  });
}

TEST(PagedKVCache, Int8HasTheBitsOfTheContiguousCache) {
  for_each_target([](const std::string& target) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Random random(seed);
      Case c;
      make_case(random, c, seed);
      if (!c.cu_k.empty()) continue;
      attention(c.q.view(), contiguous_cache(c, DType::i8, random), c.out.view(), lse_rows(c),
                c.options);
      const Bits expected = bits(c);
      for (const std::size_t page_size : kPageSizes) {
        PagedCase(c, DType::i8, page_size, random).run(c);
        ASSERT_EQ(bits(c), expected)
            << c << ", pages of " << page_size << ", seed " << seed << " on " << target;
      }
    }
  });
}

// Long enough that splits of the keys become tasks.
TEST(PagedKVCache, TheSameBitsForAnyNumberOfThreads) {
  for (const std::size_t n_q : {1, 40}) {
    Random random(7);
    Case c;
    c.batch = 2;
    c.query_heads = 4;
    c.kv_heads = 2;
    c.n_q = n_q;
    c.n_k = 3000;
    c.d_k = c.d_v = 64;
    c.options.causal = Causal::lower_right;
    c.make(random);
    const PagedCase paged(c, DType::i8, 16, random);
    paged.run(c, {.threads = 1});
    const Bits expected = bits(c);
    for (const std::size_t threads : {2, 3, 8}) {
      paged.run(c, {.threads = threads});
      EXPECT_EQ(bits(c), expected) << n_q << " queries on " << threads << " threads";
    }
  }
}

TEST(PagedKVCache, APlanTellsWhatWouldRun) {
  Random random(8);
  Case c;
  c.batch = 2;
  c.query_heads = 4;
  c.kv_heads = 2;
  c.n_k = 2000;
  c.d_k = c.d_v = 64;
  c.make(random);
  const PlanInfo expected = Plan(c.q.view(), c.k.view(), c.v.view(), {}, {.threads = 1}).info();
  const KVCache contiguous = contiguous_cache(c, DType::f32, random);
  const PagedCase paged(c, DType::f32, 16, random);
  for (const PlanInfo& info : {plan_info(c.q.view(), contiguous, {}, {.threads = 1}),
                               plan_info(c.q.view(), paged.cache, paged.ids, {}, {.threads = 1})}) {
    EXPECT_EQ(info.kernel, "decode");
    EXPECT_EQ(info.target, expected.target);
    EXPECT_EQ(info.key_splits, expected.key_splits);
    EXPECT_EQ(info.workspace_bytes, expected.workspace_bytes);
    EXPECT_EQ(info.flops, expected.flops);
    EXPECT_EQ(info.bytes, expected.bytes);
  }
}

// --- Pages --------------------------------------------------------------------------------------

// One head of one number: token t of a sequence is its value.
class Numbers : public testing::Test {
 protected:
  static constexpr std::size_t kPages = 6, kPageSize = 4;
  PagedKVCache cache{{.kv_heads = 1, .key_dim = 1, .pages = kPages, .page_size = kPageSize}};

  void append(SequenceId id, std::vector<float> numbers) {
    const auto rows = bhnd(numbers.data(), 1, 1, numbers.size(), 1);
    cache.append(id, rows, rows);
  }
  std::vector<float> read(SequenceId id) const {
    std::vector<float> numbers;
    const auto table = cache.block_table(id);
    const auto* keys = static_cast<const float*>(cache.key_pages().data);
    const auto* values = static_cast<const float*>(cache.value_pages().data);
    for (std::size_t t = 0; t < cache.length(id); ++t) {
      const std::size_t at =
          static_cast<std::size_t>(table[t / kPageSize]) * kPageSize + t % kPageSize;
      EXPECT_EQ(keys[at], values[at]);
      numbers.push_back(keys[at]);
    }
    return numbers;
  }
  std::size_t used() const { return cache.pages() - cache.free_pages(); }
};

TEST_F(Numbers, AForkSharesPagesUntilItWrites) {
  const SequenceId a = cache.add();
  append(a, {1, 2, 3, 4, 5});
  const SequenceId b = cache.fork(a);
  EXPECT_EQ(used(), 2u);
  EXPECT_EQ(cache.shared_prefix(std::array{a, b}), 5u);
  append(b, {6});  // into the half-filled page, which is copied first
  EXPECT_EQ(used(), 3u);
  EXPECT_EQ(cache.shared_prefix(std::array{a, b}), 4u);
  append(a, {7});  // alone in it by now
  EXPECT_EQ(used(), 3u);
  EXPECT_THAT(read(a), ElementsAre(1, 2, 3, 4, 5, 7));
  EXPECT_THAT(read(b), ElementsAre(1, 2, 3, 4, 5, 6));
  cache.remove(a);
  EXPECT_EQ(used(), 2u);
  cache.remove(b);
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(cache.sequences(), 0u);
}

TEST_F(Numbers, AForkOfAPrefixAndATruncatedShareAreCopiedToo) {
  const SequenceId a = cache.add();
  append(a, {1, 2, 3, 4, 5, 6});
  const SequenceId b = cache.fork(a, 2);
  append(b, {9});
  EXPECT_THAT(read(b), ElementsAre(1, 2, 9));
  const SequenceId c = cache.fork(a);
  cache.truncate(c, 1);
  append(c, {8});
  EXPECT_THAT(read(c), ElementsAre(1, 8));
  EXPECT_THAT(read(a), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(used(), 4u);
}

TEST_F(Numbers, AppendsToSeveralSequencesAtOnce) {
  const SequenceId a = cache.add(), b = cache.add();
  const std::array<float, 6> x = {1, 2, 3, 4, 5, 6};
  cache.append(std::array{b, a}, bhnd(x.data(), 2, 1, 3, 1), bhnd(x.data(), 2, 1, 3, 1));
  EXPECT_THAT(read(b), ElementsAre(1, 2, 3));
  EXPECT_THAT(read(a), ElementsAre(4, 5, 6));
}

TEST_F(Numbers, WhenFullNothingChanges) {
  const SequenceId a = cache.add(), b = cache.add();
  append(a, std::vector<float>(22, 1.0f));
  const std::array<float, 6> x = {1, 2, 3, 4, 5, 6};
  const auto two = bhnd(x.data(), 2, 1, 3, 1);
  EXPECT_THAT(
      [&] {
        cache.append(std::array{a, b}, two, two);
      },
      ThrowsMessage<CacheFull>("append: 2 pages are needed but 0 of 6 are free"));
  const SequenceId c = cache.fork(a);
  EXPECT_THAT([&] { append(c, {1}); },  // the shared page would have to be copied
              ThrowsMessage<CacheFull>("append: 1 pages are needed but 0 of 6 are free"));
  EXPECT_EQ(cache.length(a), 22u);
  EXPECT_EQ(cache.length(b), 0u);
  EXPECT_EQ(cache.length(c), 22u);
  EXPECT_EQ(cache.free_pages(), 0u);
  cache.remove(a);
  append(c, {7, 8});
  EXPECT_EQ(cache.length(c), 24u);
  ConstTensorView endless = bhnd(x.data(), 1, 1, std::size_t{1} << 61, 1);
  endless.token_stride = 0;
  EXPECT_THROW(cache.append(b, endless, endless), CacheFull);
}

// Of all forks that write into a page at once, the last one keeps it.
TEST_F(Numbers, TheLastHolderOfAPageDoesNotCopyIt) {
  const SequenceId a = cache.add();
  append(a, std::vector<float>(17, 1.0f));  // 5 pages
  const SequenceId b = cache.fork(a);
  const std::array<float, 2> x = {2, 3};
  const auto one_each = bhnd(x.data(), 2, 1, 1, 1);
  cache.append(std::array{a, b}, one_each, one_each);
  EXPECT_EQ(cache.free_pages(), 0u);
  EXPECT_EQ(read(a).back(), 2);
  EXPECT_EQ(read(b).back(), 3);
}

TEST_F(Numbers, RefusesUnknownSequencesAndLengths) {
  const SequenceId a = cache.add();
  append(a, {1, 2});
  const auto refuses = [](auto&& f, const char* text) {
    EXPECT_THAT(f, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses([&] { cache.length(7); }, "sequence 7 is not one of the 1 here");
  refuses([&] { cache.fork(-1); }, "sequence -1 is not one of the 1 here");
  refuses([&] { cache.fork(a, 3); }, "fork: length is 3 but sequence 0 has 2 tokens");
  refuses([&] { cache.truncate(a, 3); }, "truncate: length is 3 but sequence 0 has 2 tokens");
  const std::array<float, 2> x = {1, 2};
  const auto two = bhnd(x.data(), 2, 1, 1, 1);
  refuses([&] { cache.append(std::array{a, a}, two, two); }, "sequence 0 is given twice");
  refuses([&] { cache.append(a, two, two); }, "append: key has batch 2, expected 1");
  ConstTensorView own = cache.key_pages();
  own.batch = own.tokens = 1;
  refuses([&] { cache.append(a, own, own); }, "append: cache.keys shares memory with key");
  EXPECT_EQ(cache.length(a), 2u);
  cache.remove(a);
  refuses([&] { cache.remove(a); }, "sequence 0 is not one of the 0 here");
  EXPECT_NE(cache.add(), a);
}

TEST(PagedKVCache, RefusesSizesThatAreNone) {
  const auto refuses = [](const PagedKVCacheConfig& config, const char* text) {
    EXPECT_THAT([&] { PagedKVCache cache(config); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses({.kv_heads = 1, .key_dim = 1, .pages = 0}, "PagedKVCache: pages is 0");
  refuses({.kv_heads = 1, .key_dim = 1, .pages = 1, .page_size = 0}, "page_size is 0");
  refuses({.kv_heads = 1, .key_dim = 1, .dtype = DType::boolean, .pages = 1},
          "dtype is bool, expected f32, f16, bf16 or i8");
  refuses({.kv_heads = 1, .key_dim = 1, .pages = std::size_t{1} << 31},
          "pages is 2147483648, expected at most 2147483647");
  refuses({.kv_heads = std::size_t{1} << 40, .key_dim = 1, .pages = std::size_t{1} << 30},
          "elements do not fit in memory");
}

TEST(PagedKVCache, AttentionRefusesWhatDoesNotFitTheSequences) {
  std::vector<float> x(64, 1.0f);
  PagedKVCache cache({.kv_heads = 1, .key_dim = 2, .pages = 4, .page_size = 2});
  const std::array ids = {cache.add(), cache.add()};
  cache.append(ids[0], bhnd(x.data(), 1, 1, 3, 2), bhnd(x.data(), 1, 1, 3, 2));
  const auto q = bhnd(x.data(), 2, 1, 1, 2), out = bhnd(x.data() + 8, 2, 1, 1, 2);
  const auto refuses = [&](ConstTensorView query, const AttentionOptions& options,
                           const char* text) {
    EXPECT_THAT([&] { attention(query, cache, ids, out, options); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  const std::vector<std::int64_t> lengths = {3, 1}, one = {3}, cu = {0, 2}, three = {0, 1, 2};
  refuses(bhnd(x.data(), 3, 1, 1, 2), {}, "query has batch 3 but key has 2");
  refuses(q, {.key_lengths = lengths}, "key_lengths[1] is 1 but that sequence has 0 keys");
  refuses(q, {.key_lengths = one}, "key_lengths has 1 values but there are 2 sequences");
  refuses(q, {.cu_seqlens_q = cu}, "cu_seqlens_q has 2 values but there are 2 sequences");
  refuses(q, {.cu_seqlens_q = three, .cu_seqlens_k = three},
          "cu_seqlens_k has 3 values but the cache knows the lengths of its 2 sequences");
  EXPECT_THAT(
      [&] {
        attention(q, cache, std::array<SequenceId, 2>{0, 9}, out);
      },
      ThrowsMessage<Error>(HasSubstr("sequence 9 is not one of the 2 here")));
}

}  // namespace
}  // namespace heed
