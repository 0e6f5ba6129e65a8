// The state algebra: merging parts is attention over the whole, in any order and however cut.
#include "heed/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/case_test.h"

namespace heed {
namespace {

using test::kInf;
using test::kNaN;
using test::Random;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kLowest = std::numeric_limits<float>::lowest();

// A state that owns its o.
struct Owned {
  std::vector<float> o;
  float m = -kInf, l = 0;

  AttentionState view() { return {.o = o, .m = m, .l = l}; }
  void keep(const AttentionState& state) {
    m = state.m;
    l = state.l;
  }
};

// The state of scores s and values v [s.size(), dim], by the definition.
Owned state_of(const std::vector<float>& s, const std::vector<float>& v, std::size_t dim) {
  Owned state{std::vector<float>(dim), -kInf, 0};
  for (const float x : s) state.m = std::max(state.m, x);
  for (std::size_t j = 0; j < s.size(); ++j) {
    const float p = std::exp(s[j] - state.m);
    state.l += p;
    for (std::size_t c = 0; c < dim; ++c) state.o[c] += p * v[j * dim + c];
  }
  return state;
}

Owned merged(Owned a, Owned b) {
  AttentionState into = a.view();
  merge(into, b.view());
  a.keep(into);
  return a;
}

float finish(Owned& a) {
  AttentionState state = a.view();
  const float lse = normalise(state);
  return lse;
}

Owned random_state(Random& random, std::size_t dim) {
  const std::size_t keys = random.below(6);
  const float size = random.pick({1.0f, 30.0f, 1e4f});
  std::vector<float> s(keys), v(keys * dim);
  for (float& x : s) x = size * random.normal();
  for (float& x : v) x = random.normal();
  return state_of(s, v, dim);
}

bool same_bits(const Owned& a, const Owned& b) {
  return std::memcmp(&a.m, &b.m, sizeof(float)) == 0 &&
         std::memcmp(&a.l, &b.l, sizeof(float)) == 0 &&
         std::memcmp(a.o.data(), b.o.data(), a.o.size() * sizeof(float)) == 0;
}

// o / l of both, within the rounding of a few operations on values of order 1.
void expect_same_result(Owned a, Owned b) {
  const float lse_a = finish(a), lse_b = finish(b);
  if (std::isfinite(lse_a))
    EXPECT_NEAR(lse_a, lse_b, 8 * 0x1p-24 * std::max(1.0f, std::abs(lse_a)));
  else
    EXPECT_EQ(lse_a, lse_b);
  for (std::size_t c = 0; c < a.o.size(); ++c) EXPECT_NEAR(a.o[c], b.o[c], 8 * 0x1p-24 * 6);
}

TEST(State, MergeIsCommutativeToTheBit) {
  Random random(1);
  for (int n = 0; n < 2000; ++n) {
    const Owned a = random_state(random, 3), b = random_state(random, 3);
    EXPECT_TRUE(same_bits(merged(a, b), merged(b, a)));
  }
}

TEST(State, MergeIsAssociative) {
  Random random(2);
  for (int n = 0; n < 2000; ++n) {
    const Owned a = random_state(random, 3), b = random_state(random, 3),
                c = random_state(random, 3);
    expect_same_result(merged(merged(a, b), c), merged(a, merged(b, c)));
  }
}

TEST(State, EmptyIsTheUnitToTheBit) {
  Random random(3);
  for (int n = 0; n < 500; ++n) {
    const Owned a = random_state(random, 4);
    Owned empty{std::vector<float>(4, kNaN), kNaN, kNaN};
    AttentionState state = empty.view();
    make_empty(state);
    empty.keep(state);
    EXPECT_THAT(empty.o, Each(0.0f));
    EXPECT_TRUE(same_bits(merged(a, empty), a));
    EXPECT_TRUE(same_bits(merged(empty, a), a));
  }
}

TEST(State, CuttingKeysAnywhereAndMergingIsTheWhole) {
  Random random(4);
  constexpr std::size_t kDim = 5;
  for (int n = 0; n < 300; ++n) {
    const std::size_t keys = 1 + random.below(60);
    std::vector<float> s(keys), v(keys * kDim);
    for (float& x : s) x = 4 * random.normal();
    for (float& x : v) x = random.normal();
    Owned parts{std::vector<float>(kDim), -kInf, 0};
    for (std::size_t begin = 0; begin < keys;) {
      const std::size_t end = std::min(keys, begin + random.below(9));
      parts = merged(parts, state_of({s.begin() + static_cast<std::ptrdiff_t>(begin),
                                      s.begin() + static_cast<std::ptrdiff_t>(end)},
                                     {v.begin() + static_cast<std::ptrdiff_t>(begin * kDim),
                                      v.begin() + static_cast<std::ptrdiff_t>(end * kDim)},
                                     kDim));
      begin = end;
    }
    Owned whole = state_of(s, v, kDim);
    const float lse = finish(parts), expected = finish(whole);
    // One rounding per merge and per term, on values below 6.
    const double bound = static_cast<double>(keys) * 0x1p-23 * 6;
    EXPECT_NEAR(lse, expected, bound);
    for (std::size_t c = 0; c < kDim; ++c) EXPECT_NEAR(parts.o[c], whole.o[c], bound);
  }
}

TEST(State, NormaliseEndsIt) {
  Owned a{{2.0f, 4.0f}, 3.0f, 2.0f};
  EXPECT_FLOAT_EQ(finish(a), 3.0f + std::log(2.0f));
  EXPECT_THAT(a.o, ElementsAre(1.0f, 2.0f));
  Owned empty{{kNaN, kNaN}, -kInf, 0};
  EXPECT_EQ(finish(empty), -kInf);
  EXPECT_THAT(empty.o, Each(0.0f));
}

TEST(State, VisibleScoresOfMinusInfinityWeighNothingBesideFiniteOnes) {
  const Owned lowest{{0.0f}, kLowest, 0.0f}, one{{2.0f}, -1e30f, 2.0f};
  EXPECT_TRUE(same_bits(merged(one, lowest), one));
  EXPECT_TRUE(same_bits(merged(lowest, one), one));
  Owned alone = merged(lowest, lowest);
  EXPECT_TRUE(std::isnan(finish(alone)));
  EXPECT_TRUE(std::isnan(alone.o[0]));
}

TEST(State, NanStaysNan) {
  const Owned fine{{1.0f}, 0.0f, 1.0f};
  for (const Owned& bad : {Owned{{kNaN}, 0.0f, kNaN}, Owned{{kNaN}, kNaN, 1.0f},
                           Owned{{kNaN}, kInf, kNaN}, Owned{{kNaN}, -80.0f, kNaN}}) {
    Owned a = merged(fine, bad), b = merged(bad, fine);
    EXPECT_TRUE(std::isnan(finish(a)));
    EXPECT_TRUE(std::isnan(finish(b)));
    EXPECT_TRUE(std::isnan(a.o[0]) && std::isnan(b.o[0]));
  }
}

TEST(State, MergeOfDifferentLengthsIsAnError) {
  std::vector<float> two(2), three(3);
  AttentionState a{.o = two}, b{.o = three};
  try {
    merge(a, b);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "merge: one state has 2 values but the other has 3");
  }
}

// --- merge_states ------------------------------------------------------------------------------

template <class T>
T stored(float x) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(x);
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(x);
  else
    return x;
}
template <class T>
float value(T x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return to_float(x);
}

template <class T>
class MergeStates : public ::testing::Test {};
using Types = ::testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(MergeStates, Types);

TYPED_TEST(MergeStates, OutputsOverDisjointKeysBecomeTheOutputOverAll) {
  constexpr std::size_t kBatch = 2, kHeads = 3, kTokens = 4, kDim = 5, kRows = 24;
  Random random(5);
  std::vector<TypeParam> a(kRows * kDim), b(a.size()), out(a.size());
  std::vector<float> lse_a(kRows), lse_b(kRows), lse(kRows), expected(a.size());
  for (std::size_t r = 0; r < kRows; ++r) {
    lse_a[r] = 3 * random.normal();
    lse_b[r] = 3 * random.normal();
    const double p = 1 / (1 + std::exp(static_cast<double>(lse_b[r]) - lse_a[r]));
    for (std::size_t c = r * kDim; c < (r + 1) * kDim; ++c) {
      a[c] = stored<TypeParam>(random.normal());
      b[c] = stored<TypeParam>(random.normal());
      expected[c] = static_cast<float>(p * value(a[c]) + (1 - p) * value(b[c]));
    }
  }
  const auto view = [&](std::vector<TypeParam>& x) {
    return bhnd(x.data(), kBatch, kHeads, kTokens, kDim);
  };
  const auto row_view = [&](std::vector<float>& x) { return rows(x.data(), kHeads, kTokens); };
  merge_states(view(a), row_view(lse_a), view(b), row_view(lse_b), view(out), row_view(lse));
  const double ulp = test::rounding(dtype_of<TypeParam>) + 4 * 0x1p-24;
  for (std::size_t c = 0; c < a.size(); ++c) EXPECT_NEAR(value(out[c]), expected[c], 6 * ulp);
  for (std::size_t r = 0; r < kRows; ++r) {
    const double sum = std::exp(static_cast<double>(lse_a[r])) + std::exp(double{lse_b[r]});
    EXPECT_NEAR(lse[r], std::log(sum), 16 * 4 * 0x1p-24);
  }

  // In place, with lse over lse_b: the same bits.
  merge_states(view(a), row_view(lse_a), view(b), row_view(lse_b), view(b), row_view(lse_b));
  EXPECT_EQ(std::memcmp(b.data(), out.data(), out.size() * sizeof(TypeParam)), 0);
  EXPECT_EQ(lse_b, lse);
  // Without lse.
  merge_states(view(a), row_view(lse_a), view(b), row_view(lse_b), view(a));
}

TYPED_TEST(MergeStates, RowsWithoutKeysCountForNothing) {
  std::vector<TypeParam> a = {stored<TypeParam>(kNaN), stored<TypeParam>(7), stored<TypeParam>(1)},
                         b = {stored<TypeParam>(3), stored<TypeParam>(kNaN), stored<TypeParam>(2)};
  std::vector<float> lse_a = {-kInf, 0.5f, -kInf}, lse_b = {2.0f, -kInf, -kInf}, lse(3);
  const auto view = [](std::vector<TypeParam>& x) { return bhnd(x.data(), 1, 1, 3, 1); };
  merge_states(view(a), rows(lse_a.data(), 1, 3), view(b), rows(lse_b.data(), 1, 3), view(a),
               rows(lse.data(), 1, 3));
  EXPECT_EQ(value(a[0]), 3.0f);
  EXPECT_EQ(value(a[1]), 7.0f);
  EXPECT_EQ(value(a[2]), 0.0f);
  EXPECT_THAT(lse, ElementsAre(2.0f, 0.5f, -kInf));
}

TEST(MergeStates, StridesAreHonoured) {
  // a [1, 2, 2, 1] as [tokens, heads] with gaps; lse transposed.
  const float a[] = {1, 9, 2, 9, 3, 9, 4, 9}, b[] = {5, 6, 7, 8};
  float lse_a[] = {0, 1, 2, 3}, lse_b[] = {0, 1, 2, 3}, out[4] = {};
  const ConstTensorView va{a, DType::f32, 1, 2, 2, 1, 8, 2, 4};
  const RowView transposed_a{lse_a, 4, 1, 2}, transposed_b{lse_b, 4, 1, 2};
  merge_states(va, transposed_a, bnhd(b, 1, 2, 2, 1), transposed_b, bnhd(out, 1, 2, 2, 1));
  EXPECT_THAT(out, ElementsAre(3.0f, 4.0f, 5.0f, 6.0f));
}

TEST(MergeStates, WhatDoesNotFitIsAnError) {
  float x[16] = {}, lse[4] = {};
  const auto error = [&](ConstTensorView a, RowView lse_a, ConstTensorView b, TensorView out) {
    try {
      merge_states(a, lse_a, b, rows(lse, 1, 2), out);
      return std::string("no error");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  const RowView good = rows(lse, 1, 2);
  const auto v = [&](std::size_t batch, std::size_t heads, std::size_t tokens, std::size_t dim) {
    return bhnd(x, batch, heads, tokens, dim);
  };
  EXPECT_EQ(error(v(1, 1, 2, 3), good, v(1, 1, 2, 4), v(1, 1, 2, 3)),
            "merge_states: a has head_dim 3 but b has 4");
  EXPECT_EQ(error(v(1, 1, 2, 3), good, v(1, 1, 2, 3), v(1, 1, 3, 3)),
            "merge_states: a has 2 tokens but out has 3");
  EXPECT_EQ(error(v(1, 1, 2, 3), good, v(1, 2, 2, 3), v(1, 1, 2, 3)),
            "merge_states: a has 1 heads but b has 2");
  EXPECT_EQ(error(v(1, 1, 2, 3), good, v(2, 1, 2, 3), v(1, 1, 2, 3)),
            "merge_states: a has batch 1 but b has 2");
  EXPECT_THAT(error(v(1, 1, 2, 3), {}, v(1, 1, 2, 3), v(1, 1, 2, 3)), HasSubstr("lse_a"));
  double wide[2] = {};
  EXPECT_EQ(error(bhnd(wide, 1, 1, 2, 1), good, bhnd(wide, 1, 1, 2, 1), bhnd(wide, 1, 1, 2, 1)),
            "merge_states: a has dtype f64, expected f32, f16 or bf16");
  EXPECT_EQ(error(v(1, 1, 2, 1), good, bhnd(wide, 1, 1, 2, 1), v(1, 1, 2, 1)),
            "merge_states: a has dtype f32 but b has f64");
  TensorView none = v(1, 1, 2, 1);
  none.data = nullptr;
  EXPECT_EQ(error(v(1, 1, 2, 1), good, v(1, 1, 2, 1), none),
            "merge_states: out has 2 tokens but no data");
  EXPECT_EQ(error(v(1, 1, 0, 1), {}, v(1, 1, 0, 1), v(1, 1, 0, 1)), "no error");
}

TEST(MergeStates, OutputsAreTheInputsRowForRowOrApart) {
  float x[16] = {}, lse[8] = {};
  const auto error = [&](std::size_t out, std::ptrdiff_t out_stride, float* rows_out) {
    TensorView o = bhnd(x + out, 1, 1, 2, 2);
    o.token_stride = out_stride;
    try {
      merge_states(bhnd(x, 1, 1, 2, 2), rows(lse, 1, 2), bhnd(x + 4, 1, 1, 2, 2),
                   rows(lse + 2, 1, 2), o, rows(rows_out, 1, 2));
      return std::string("no error");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(error(0, 2, lse), "no error");
  EXPECT_EQ(error(4, 2, lse + 2), "no error");
  EXPECT_EQ(error(8, 2, lse + 4), "no error");
  EXPECT_THAT(error(2, 2, lse + 4), HasSubstr("out shares memory with a"));
  EXPECT_THAT(error(2, -2, lse + 4), HasSubstr("out shares memory with a"));  // upside down
  EXPECT_THAT(error(7, 2, lse + 4), HasSubstr("out shares memory with b"));
  EXPECT_THAT(error(8, 1, lse + 4), HasSubstr("out has elements that share memory"));
  EXPECT_THAT(error(8, 2, lse + 1), HasSubstr("lse shares memory with lse_a"));
  EXPECT_THAT(error(8, 2, x + 11), HasSubstr("lse shares memory with out"));
  EXPECT_THAT(error(8, 2, x + 6), HasSubstr("lse shares memory with b"));
}

}  // namespace
}  // namespace heed
