// Prepared runs: what they are made of, that they allocate nothing, and the halves for caches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/allocations_test.h"
#include "base/threads.h"
#include "heed/layer.h"
#include "layer/layer_case_test.h"

namespace heed {
namespace {

using test::LayerCase;
using test::Random;
using test::sequence_view;

void make_usual(LayerCase& c, std::uint64_t seed, std::size_t tokens = 19) {
  Random random(seed);
  c.d_model = 48;
  c.query_heads = 4;
  c.kv_heads = 2;
  c.m = 16;
  c.l = 12;
  c.batch = 2;
  c.n_q = tokens;
  c.biased = true;
  c.rotary = Rotary{};
  c.norm_epsilon = 1e-6;
  c.make(random);
}

TEST(LayerPlan, TellsWhatARunIsMadeOf) {
  LayerCase c;
  make_usual(c, 1);
  const LayerPlan plan(c.layer(), 2, 19, 19, {}, {.threads = 1});
  const double projections = 2.0 * 2 * 19 * (48 * 64 + 48 * 32 + 48 * 24 + 48 * 48);
  const double attention = 2.0 * 4 * 19 * 19 * 2 * (16 + 12);
  EXPECT_EQ(plan.info().flops, projections + attention);
  EXPECT_EQ(plan.info().attention.flops, attention);
  EXPECT_EQ(plan.info().target, current_target());
  EXPECT_GT(plan.info().workspace_bytes, plan.info().attention.workspace_bytes);
  EXPECT_EQ(plan.info().threads, 1u);
}

TEST(LayerPlan, RunsAgainWithoutAllocating) {
  LayerCase c;
  make_usual(c, 2, 400);
  c.run();
  const std::vector<float> expected = c.out.f32;
  const MultiHeadAttention layer = c.layer();
  for (const std::size_t threads : {1, 2, 3}) {
    LayerPlan plan(layer, c.batch, c.n_q, c.n_q, c.options, {.threads = threads});
    EXPECT_EQ(plan.info().threads, thread_count(threads));
    c.out.allocate();
    plan.self_attention(sequence_view(c.y), sequence_view(c.out), c.options);
    c.out.f32.assign(c.out.f32.size(), test::kNaN);
    const std::size_t before = test::allocations;
    plan.self_attention(sequence_view(c.y), sequence_view(c.out), c.options);
    EXPECT_EQ(test::allocations, before) << threads << " threads";
    EXPECT_EQ(std::memcmp(c.out.f32.data(), expected.data(), expected.size() * sizeof(float)), 0);
  }
}

// Twice the tokens, at most twice the memory; and no more than a few rows of floats for each token.
TEST(LayerPlan, TheWorkspaceIsLinearInTheTokens) {
  LayerCase c;
  make_usual(c, 3);
  const MultiHeadAttention layer = c.layer();
  const auto bytes = [&](std::size_t n) {
    return LayerPlan(layer, 1, n, n, {}, {.threads = 1}).info().workspace_bytes;
  };
  EXPECT_LE(bytes(80000), 2 * bytes(40000));
  const std::size_t padding = 64;  // floats, at most, for each of Q, K, V and the heads' output
  const std::size_t rows = (4 * 16 + padding) + (2 * 16 + padding) + (2 * 12 + padding) +
                           (4 * 12 + padding) + 2 * 16;  // and the turns of queries and keys
  const std::size_t places = 4 * sizeof(std::int64_t);
  EXPECT_LE(bytes(80000) - bytes(40000), 40000 * (rows * sizeof(float) + places));
}

TEST(LayerPlan, RefusesAnotherShape) {
  LayerCase c;
  make_usual(c, 4);
  LayerPlan plan(c.layer(), 2, 18, 18);
  try {
    plan.self_attention(sequence_view(c.y), sequence_view(c.y));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "layer: x has 19 tokens but 18 are planned");
  }
}

TEST(LayerPlan, TellsItsProgressAndCanBeCancelled) {
  LayerCase c;
  make_usual(c, 5);
  std::vector<double> told;
  struct User {
    std::vector<double>* told;
    std::size_t most;
  } user{&told, 1000};
  const Progress progress = {[](double done, void* u) {
                               auto& to = *static_cast<User*>(u);
                               to.told->push_back(done);
                               return to.told->size() < to.most;
                             },
                             &user};
  c.run({.threads = 1, .progress = progress});
  ASSERT_GE(told.size(), 3u);
  EXPECT_EQ(told.front(), 0.0);
  EXPECT_EQ(told.back(), 1.0);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  for (const std::size_t most : {1, 2, 3}) {
    told.clear();
    user.most = most;
    EXPECT_THROW(c.run({.threads = 1, .progress = progress}), Cancelled);
    EXPECT_EQ(told.size(), most);
  }
}

TEST(LayerProjections, PieceByPieceIsTheWhole) {
  for (const bool self : {true, false}) {
    LayerCase c;
    c.self = self;
    c.n_k = 23;
    c.d_context = 31;
    make_usual(c, 6);
    c.run();
    LayerProjections steps(c.layer(), c.batch, c.n_q, c.n_k);
    const auto whole = self ? steps.project(sequence_view(c.y))
                            : steps.project(sequence_view(c.y), sequence_view(c.z));
    attention(whole.q, whole.k, whole.v, steps.heads());
    std::vector<float> out(c.batch * c.n_q * c.d_model);
    const auto to = sequences(out.data(), c.batch, c.n_q, c.d_model);
    steps.output(to);
    const auto expect_whole = [&] {
      for (std::size_t b = 0; b < c.batch; ++b)
        for (std::size_t i = 0; i < c.n_q; ++i)
          for (std::size_t j = 0; j < c.d_model; ++j)
            ASSERT_EQ(out[(b * c.n_q + i) * c.d_model + j], c.out.get(b, 0, i, j));
    };
    expect_whole();

    LayerProjections apart(c.layer(), c.batch, c.n_q, c.n_k);
    const auto [k, v] = apart.project_context(self ? sequence_view(c.y) : sequence_view(c.z));
    const auto q = apart.project_queries(sequence_view(c.y));
    attention(q, k, v, apart.heads());
    out.assign(out.size(), 0.0f);
    apart.output(to);
    expect_whole();
  }
}

// Keys and values kept by the caller: token by token gives the rows that all at once give.
TEST(LayerProjections, TokenByTokenIsTheCausalWhole) {
  LayerCase c;
  make_usual(c, 7);
  c.options.attention.causal = Causal::upper_left;
  c.run();
  const MultiHeadAttention layer = c.layer();
  LayerProjections step(layer, c.batch, 1, 1);
  std::vector<float> keys(c.batch * c.n_q * 2 * 16), values(c.batch * c.n_q * 2 * 12);
  for (std::size_t t = 0; t < c.n_q; ++t) {
    ConstSequenceView token = sequence_view(c.y);
    token.data =
        static_cast<const float*>(token.data) + static_cast<std::ptrdiff_t>(t) * token.token_stride;
    token.tokens = 1;
    const auto [q, k, v] = step.project(token, {.first = static_cast<std::int64_t>(t)});
    const auto append = [&](std::vector<float>& to, ConstTensorView from) {
      for (std::size_t b = 0; b < from.batch; ++b)
        for (std::size_t h = 0; h < from.heads; ++h) {
          const float* row = static_cast<const float*>(from.data) +
                             static_cast<std::ptrdiff_t>(b) * from.batch_stride +
                             static_cast<std::ptrdiff_t>(h) * from.head_stride;
          std::copy_n(row, from.dim, to.data() + ((b * c.n_q + t) * from.heads + h) * from.dim);
        }
    };
    append(keys, k);
    append(values, v);
    ConstTensorView past_k = bnhd(keys.data(), c.batch, c.n_q, 2, 16);
    ConstTensorView past_v = bnhd(values.data(), c.batch, c.n_q, 2, 12);
    past_k.tokens = past_v.tokens = t + 1;
    attention(q, past_k, past_v, step.heads());
    std::vector<float> out(c.batch * c.d_model);
    step.output(sequences(out.data(), c.batch, 1, c.d_model));
    for (std::size_t b = 0; b < c.batch; ++b)
      for (std::size_t j = 0; j < c.d_model; ++j)
        ASSERT_NEAR(out[b * c.d_model + j], c.out.get(b, 0, t, j), 1e-5) << t;
  }
}

}  // namespace
}  // namespace heed
