#include "heed/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>

#include "heed/error.h"
#include "layer/layer_case_test.h"

namespace heed {
namespace {

using test::expect_exact;
using test::for_each_target;
using test::kNaN;
using test::LayerCase;
using test::Random;
using test::sequence_view;
using ::testing::FloatNear;
using ::testing::Pointwise;

// "I love AI" by layer, one head, W_O the identity: the notes' figures to their six places.
TEST(Layer, ILoveAi) {
  for_each_target([](const std::string&) {
    const std::vector<float> x = {1, 0, 0, 1, 1, 1}, w_q = {1, 0, 1, 1}, w_k = {0, 1, 1, 0},
                             w_v = {1, 2, 0, 1}, w_o = {1, 0, 0, 1};
    const MultiHeadAttention layer({.d_model = 2, .query_heads = 1},
                                   {.query = in_out(w_q.data(), 2, 2),
                                    .key = in_out(w_k.data(), 2, 2),
                                    .value = in_out(w_v.data(), 2, 2),
                                    .output = in_out(w_o.data(), 2, 2)});
    std::vector<float> out(6);
    layer.self_attention(sequences(x.data(), 1, 3, 2), sequences(out.data(), 1, 3, 2));
    EXPECT_THAT(out, Pointwise(FloatNear(0.5e-6f),
                               {0.598888f, 2.000000f, 0.751745f, 2.255235f, 0.716005f, 2.291980f}));
  });
}

// d = 512, T = 8, m = l = 64: 786,432 numbers in the heads and 262,144 in W_O.
TEST(Layer, CountsTheParametersOfTheNotes) {
  Random random(1);
  LayerCase c;
  c.d_model = 512;
  c.query_heads = c.kv_heads = 8;
  c.m = c.l = 64;
  c.make(random);
  EXPECT_EQ(c.layer().parameter_count(), 1048576u);
  EXPECT_EQ(c.layer().weight_bytes(), 4 * 1048576u);
  c.storage = WeightStorage::view;
  EXPECT_EQ(c.layer().weight_bytes(), 0u);
}

// m and l differ, the context is wider, keys are shared, and there are biases and norms.
TEST(Layer, CountsEveryParameter) {
  Random random(1);
  LayerCase c;
  c.self = false;
  c.d_model = 5;
  c.d_context = 7;
  c.query_heads = 4;
  c.kv_heads = 2;
  c.m = 3;
  c.l = 1;
  c.biased = true;
  c.norm_epsilon = 1e-6;
  c.make(random);
  const std::size_t weights = 5 * 12 + 7 * 6 + 7 * 2 + 4 * 5, biases = 12 + 6 + 2 + 5;
  EXPECT_EQ(c.layer().parameter_count(), weights + biases + 2 * 3);
  EXPECT_EQ(c.layer().d_context(), 7u);
  EXPECT_EQ(c.layer().kv_heads(), 2u);
}

// The notes' encoder to decoder sizes: 8 heads of 64, 5 queries against 7 keys.
TEST(Layer, CrossAttentionOfTheNotesSize) {
  Random random(2);
  LayerCase c;
  c.self = false;
  c.d_model = c.d_context = 512;
  c.query_heads = c.kv_heads = 8;
  c.m = c.l = 64;
  c.n_q = 5;
  c.n_k = 7;
  c.make(random);
  c.run();
  expect_exact(c);
}

void random_sizes(Random& random, LayerCase& c) {
  c.kv_heads = 1 + random.below(3);
  c.query_heads = c.kv_heads * (1 + random.below(3));
  c.m = 1 + random.below(20);
  c.l = random.chance(0.5) ? c.m : 1 + random.below(20);
  c.d_model = 1 + random.below(60);
  c.d_context = random.chance(0.5) ? c.d_model : 1 + random.below(60);
  c.batch = 1 + random.below(3);
  c.n_q = 1 + random.below(20);
  c.n_k = 1 + random.below(20);
  c.self = random.chance(0.5);
  c.out_in = random.chance(0.5);
  c.biased = random.chance(0.5);
  c.storage = random.chance(0.5) ? WeightStorage::packed : WeightStorage::view;
  c.type = random.pick({DType::f32, DType::f32, DType::f16, DType::bf16});
  c.weight_type = random.pick({DType::f32, DType::f16, DType::bf16});
}

void random_head_steps(Random& random, LayerCase& c) {
  if (random.chance(0.4)) c.norm_epsilon = random.pick({0.0, 1e-6, 0.1});
  if (c.m < 2 || random.chance(0.4)) return;
  Rotary r;
  r.base = random.pick({100.0, 10000.0, 500000.0});
  r.scaling = random.pick({1.0, 1.0, 4.0});
  r.pairs = random.pick({RotaryPairs::half_split, RotaryPairs::interleaved});
  r.dims = random.chance(0.5) ? c.m / 2 * 2 : 2 * random.below(c.m / 2 + 1);
  c.rotary = r;
}

// Options of every kind that the layer hands on.
void random_options(Random& random, LayerCase& c) {
  AttentionOptions& o = c.options.attention;
  const bool placed = random.chance(0.6);
  if (placed) o.causal = random.pick({Causal::upper_left, Causal::lower_right});
  if (placed && random.chance(0.3)) o.query_offset = random.between(-3, 10);
  if (placed && random.chance(0.3)) o.window_left = random.between(0, 10);
  if (random.chance(0.2)) o.softcap = 2.0;
  if (random.chance(0.2)) o.scale = 0.3;
  if (random.chance(0.2)) {
    for (std::size_t n = 0; n < c.batch; ++n)
      c.lengths.push_back(random.between(0, static_cast<std::int64_t>(c.n_k)));
    o.key_lengths = c.lengths;
  }
  if (random.chance(0.2)) {
    c.mask.resize(c.n_q * c.n_k);
    for (auto& x : c.mask) x = random.chance(0.7);
    o.mask = scores(c.mask.data(), 1, 1, c.n_q, c.n_k);
    o.mask.dtype = DType::boolean;
  }
  if (random.chance(0.2)) {
    c.bias.resize(c.query_heads * c.n_k);
    for (float& x : c.bias) x = random.normal();
    o.bias = scores(c.bias.data(), 1, c.query_heads, 1, c.n_k);
  }
  if (placed && random.chance(0.2)) {
    c.slopes.assign(c.query_heads, 0.25f);
    o.alibi_slopes = c.slopes;
  }
  if (random.chance(0.2)) {
    c.sinks.assign(c.query_heads, 0.5f);
    o.sinks = c.sinks;
  }
}

void random_places(Random& random, LayerCase& c) {
  if (!c.rotary || random.chance(0.6)) return;
  for (std::size_t n = 0; n < c.batch * c.n_q; ++n)
    c.query_places.push_back(random.between(0, 5000));
  for (std::size_t n = 0; n < c.batch * c.n_k; ++n) c.key_places.push_back(random.between(0, 5000));
  c.options.query_positions = Positions{.each = c.query_places};
  c.options.key_positions = Positions{.each = c.key_places};
}

TEST(Layer, RandomOnesAgainstTheOracle) {
  for_each_target([](const std::string&) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      Random random(seed);
      LayerCase c;
      random_sizes(random, c);
      random_head_steps(random, c);
      c.make(random);
      random_options(random, c);
      random_places(random, c);
      c.run({.threads = 1 + random.below(3)});
      expect_exact(c);
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
  });
}

TEST(Layer, RaggedBatchesAgainstTheOracle) {
  for (const bool self : {true, false}) {
    Random random(7);
    LayerCase c;
    c.self = self;
    c.d_model = c.d_context = 24;
    c.query_heads = 4;
    c.kv_heads = 2;
    c.m = 8;
    c.l = 6;
    c.n_q = 11;
    c.n_k = self ? 11 : 15;
    c.rotary = Rotary{};
    c.make(random);
    c.cu_q = {0, 4, 4, 5, 11};
    c.cu_k = self ? c.cu_q : std::vector<std::int64_t>{0, 1, 3, 9, 15};
    c.options.attention.cu_seqlens_q = c.cu_q;
    c.options.attention.cu_seqlens_k = c.cu_k;
    c.options.attention.causal = Causal::lower_right;
    c.run();
    expect_exact(c);
  }
}

// The operator's long way round: big enough for several tiles and k-blocks of every kind.
TEST(Layer, LargerOnesAgainstTheOracle) {
  Random random(8);
  LayerCase c;
  c.d_model = 530;
  c.query_heads = 6;
  c.kv_heads = 2;
  c.m = 90;
  c.l = 100;
  c.n_q = 101;
  c.biased = true;
  c.rotary = Rotary{.dims = 64};
  c.norm_epsilon = 1e-6;
  c.make(random);
  c.options.attention.causal = Causal::upper_left;
  c.run();
  expect_exact(c);
}

TEST(Layer, TheSameBitsForAnyThreadsStorageAndOrder) {
  for_each_target([](const std::string& target) {
    const bool slow = target == "SCALAR";
    for (const DType weight_type : {DType::f32, DType::bf16}) {
      Random random(9);
      LayerCase c;
      c.weight_type = weight_type;
      c.d_model = slow ? 64 : 300;
      c.query_heads = 6;
      c.kv_heads = 3;
      c.m = 40;
      c.l = 24;
      c.batch = 2;
      c.n_q = slow ? 20 : 130;
      c.biased = true;
      c.rotary = Rotary{};
      c.make(random);
      c.run({.threads = 1});
      const std::vector<float> expected = c.out.f32;
      const auto same = [&] {
        return std::memcmp(expected.data(), c.out.f32.data(), expected.size() * sizeof(float)) == 0;
      };
      for (const std::size_t threads : {2, 3, 8}) {
        c.run({.threads = threads});
        EXPECT_TRUE(same()) << threads << " threads";
      }
      c.storage = WeightStorage::view;
      c.run({.threads = 2});
      EXPECT_TRUE(same()) << "view";
      for (test::Stored* w : {&c.w_q, &c.w_k, &c.w_v, &c.w_o}) {
        const test::Stored from = *w;
        *w = test::stored(weight_type, 1, from.dim, from.tokens);
        w->allocate();
        for (std::size_t i = 0; i < from.tokens; ++i)
          for (std::size_t j = 0; j < from.dim; ++j) w->set(0, 0, j, i, from.get(0, 0, i, j));
      }
      c.out_in = true;
      c.run();
      EXPECT_TRUE(same()) << "out_in view";
      c.storage = WeightStorage::packed;
      c.run();
      EXPECT_TRUE(same()) << "out_in packed";
    }
  });
}

TEST(Layer, ASequenceAloneGivesTheBitsItGivesInABatch) {
  Random random(10);
  LayerCase c;
  c.d_model = 96;
  c.query_heads = c.kv_heads = 4;
  c.m = c.l = 24;
  c.batch = 3;
  c.n_q = 37;
  c.rotary = Rotary{};
  c.make(random);
  c.run();
  const MultiHeadAttention layer = c.layer();
  for (std::size_t b = 0; b < c.batch; ++b) {
    ConstSequenceView one = sequence_view(c.y);
    one.data =
        static_cast<const float*>(one.data) + static_cast<std::ptrdiff_t>(b) * one.batch_stride;
    one.batch = 1;
    std::vector<float> out(c.n_q * c.d_model);
    layer.self_attention(one, sequences(out.data(), 1, c.n_q, c.d_model));
    for (std::size_t i = 0; i < c.n_q; ++i)
      for (std::size_t j = 0; j < c.d_model; ++j)
        ASSERT_EQ(out[i * c.d_model + j], c.out.get(b, 0, i, j));
  }
}

// Positions are given as an offset, once for all batch rows, or one by one; and as every other
// token of a longer view.
TEST(Layer, PositionsInEveryForm) {
  Random random(11);
  LayerCase c;
  c.d_model = 16;
  c.query_heads = c.kv_heads = 2;
  c.m = c.l = 8;
  c.batch = 2;
  c.n_q = 5;
  c.rotary = Rotary{};
  c.make(random);
  std::vector<std::int64_t> once(5), all(10);
  std::iota(once.begin(), once.end(), 3);
  for (std::size_t n = 0; n < 10; ++n) all[n] = static_cast<std::int64_t>(3 + n % 5);
  c.options.query_positions = c.options.key_positions = Positions{.first = 3};
  c.run();
  const std::vector<float> expected = c.out.f32;
  for (const auto& list : {once, all}) {
    c.options.query_positions = c.options.key_positions = Positions{.each = list};
    c.run();
    EXPECT_EQ(std::memcmp(c.out.f32.data(), expected.data(), expected.size() * sizeof(float)), 0);
  }
  c.query_places = c.key_places = all;
  expect_exact(c);
}

TEST(Layer, OutMayBeTheInput) {
  Random random(12);
  LayerCase c;
  c.d_model = 20;
  c.query_heads = c.kv_heads = 2;
  c.m = c.l = 10;
  c.n_q = 9;
  c.make(random);
  c.run();
  c.layer().self_attention(sequence_view(c.y), sequence_view(c.y));
  for (std::size_t i = 0; i < c.n_q; ++i)
    for (std::size_t j = 0; j < c.d_model; ++j)
      EXPECT_EQ(c.y.get(0, 0, i, j), c.out.get(0, 0, i, j));
}

TEST(Layer, NaNInAHiddenTokenStaysThere) {
  Random random(13);
  LayerCase c;
  c.d_model = 20;
  c.query_heads = c.kv_heads = 2;
  c.m = c.l = 10;
  c.n_q = 9;
  c.rotary = Rotary{};
  c.norm_epsilon = 1e-6;
  c.make(random);
  c.lengths = {8};
  c.options.attention.key_lengths = c.lengths;
  c.y.set(0, 0, 8, 3, kNaN);
  c.run();
  for (std::size_t i = 0; i < c.n_q; ++i)
    for (std::size_t j = 0; j < c.d_model; ++j)
      EXPECT_EQ(std::isnan(c.out.get(0, 0, i, j)), i == 8) << i;
}

TEST(Layer, NothingToDoIsDone) {
  Random random(14);
  LayerCase c;
  c.self = false;
  c.d_model = 4;
  c.query_heads = c.kv_heads = 2;
  c.m = c.l = 2;
  c.rotary = Rotary{};
  for (const auto& [batch, n_q, n_k] :
       std::vector<std::array<std::size_t, 3>>{{0, 3, 3}, {2, 0, 3}, {2, 3, 0}}) {
    c.batch = batch;
    c.n_q = n_q;
    c.n_k = n_k;
    c.make(random);
    c.run();
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t i = 0; i < n_q; ++i)  // no key: a row of 0, and no b_O
        for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(c.out.get(b, 0, i, j), 0.0f);
  }
}

// --- Errors ------------------------------------------------------------------------------------

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

struct LayerErrorsTest : testing::Test {
  std::vector<float> numbers = std::vector<float>(4096);
  MultiHeadConfig config = {.d_model = 8, .query_heads = 2};
  MultiHeadWeights weights = {.query = in_out(numbers.data(), 8, 8),
                              .key = in_out(numbers.data(), 8, 8),
                              .value = in_out(numbers.data(), 8, 8),
                              .output = in_out(numbers.data(), 8, 8)};
  std::string error() {
    return error_of([&] { MultiHeadAttention(config, weights); });
  }
};

TEST_F(LayerErrorsTest, NameBothSizes) {
  EXPECT_EQ(error(), "no error");
  config.query_heads = 3;
  EXPECT_EQ(error(), "layer: d_model is 8, which is not a multiple of query_heads 3; give key_dim");
  config.key_dim = 4;
  EXPECT_EQ(error(), "layer: W_Q gives 8 numbers but query_heads * key_dim is 12");
  config.query_heads = 2;
  config.kv_heads = 3;
  EXPECT_EQ(error(), "layer: query_heads is 2, which is not a multiple of kv_heads 3");
  config.kv_heads = 0;
  EXPECT_EQ(error(), "layer: kv_heads is 0, expected at least 1");
  config.kv_heads = 2;
  weights.key = in_out(numbers.data(), 7, 8);
  EXPECT_EQ(error(), "layer: W_K maps 7 numbers but d_context is 8");
  weights.key = out_in(numbers.data(), 8, 8);
  weights.output.data = nullptr;
  EXPECT_EQ(error(), "layer: W_O has no data for its 8 x 8 numbers");
  weights.output.data = numbers.data();
  weights.value_bias = vector_of(numbers.data(), 9);
  EXPECT_EQ(error(), "layer: b_V has 9 numbers but W_V gives 8");
  weights.value_bias = {};
  weights.value.dtype = DType::f64;
  EXPECT_EQ(error(), "attention: W_V has dtype f64, expected f32, f16 or bf16");
}

TEST_F(LayerErrorsTest, SizesThatOverflowAreRefused) {
  config.query_heads = std::size_t{1} << 62;
  config.key_dim = 8;
  EXPECT_THAT(error(), testing::HasSubstr("do not fit in memory"));
  config = {.d_model = 8, .query_heads = 2};
  const MultiHeadAttention layer(config, weights);
  EXPECT_THAT(error_of([&] { LayerPlan(layer, std::size_t{1} << 40, std::size_t{1} << 40, 1); }),
              testing::HasSubstr("do not fit in memory"));
}

TEST_F(LayerErrorsTest, InputsAreCheckedBeforeAnythingIsWritten) {
  const MultiHeadAttention layer(config, weights);
  std::vector<float> out(3 * 8, 7.0f);
  const auto x = sequences(numbers.data(), 1, 3, 8);
  const auto to = sequences(out.data(), 1, 3, 8);
  const auto self = [&](ConstSequenceView from, SequenceView into, const LayerOptions& options) {
    return error_of([&] { layer.self_attention(from, into, options); });
  };
  EXPECT_EQ(self(sequences(numbers.data(), 1, 3, 9), to, {}),
            "layer: x has 9 numbers per token but d_model is 8");
  EXPECT_EQ(self(x, sequences(out.data(), 1, 2, 8), {}),
            "layer: out has 2 tokens but 3 are planned");
  const std::vector<std::int64_t> five(5);
  config.rotary = Rotary{};
  const MultiHeadAttention turning(config, weights);
  EXPECT_EQ(
      error_of([&] { turning.self_attention(x, to, {.key_positions = Positions{.each = five}}); }),
      "layer: 5 positions are given but there are 3 tokens in each of 1 sequences");
  EXPECT_THAT(self(x, to, {.attention = {.softcap = -1.0}}), testing::HasSubstr("softcap is -1"));
  EXPECT_EQ(error_of([&] { layer.cross_attention(x, sequences(numbers.data(), 2, 3, 8), to); }),
            "layer: z has batch 2 but 1 is planned");
  EXPECT_THAT(out, testing::Each(7.0f));

  config.d_context = 6;
  weights.key = weights.value = in_out(numbers.data(), 6, 8);
  EXPECT_EQ(error_of([&] { MultiHeadAttention(config, weights).self_attention(x, to); }),
            "layer: self-attention needs d_context to be d_model 8, not 6");
}

}  // namespace
}  // namespace heed
