#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "heed/error.h"
#include "heed/reference.h"

namespace heed::reference {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using Values = std::vector<double>;

// [rows, cols] as one head.
ConstTensorView matrix(const Values& values, std::size_t rows, std::size_t cols) {
  return bhnd(values.data(), 1, 1, rows, cols);
}

Values random_values(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Values values(size);
  for (double& x : values) x = uniform(random);
  return values;
}

// "I love AI", from the tokens on.
TEST(MultiHead, ILoveAi) {
  const Values x = {1, 0, 0, 1, 1, 1}, w_q = {1, 0, 1, 1}, w_k = {0, 1, 1, 0}, w_v = {1, 2, 0, 1};
  const auto r = multi_head<double>(
      matrix(x, 3, 2),
      {.w_q = matrix(w_q, 2, 2), .w_k = matrix(w_k, 2, 2), .w_v = matrix(w_v, 2, 2)});
  EXPECT_EQ(r.q.values, (Values{1, 0, 1, 1, 2, 1}));
  EXPECT_EQ(r.k.values, (Values{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(r.v.values, (Values{1, 2, 0, 1, 1, 3}));
  EXPECT_EQ(r.attention.raw.values, (Values{0, 1, 1, 1, 1, 2, 1, 2, 3}));
  EXPECT_THAT(r.concat.values, Pointwise(DoubleNear(0.5e-6), {0.598888, 2.000000, 0.751745,
                                                              2.255235, 0.716005, 2.291980}));
  EXPECT_TRUE(r.y.values.empty());
}

// Two heads on one token each way: with a single key the weight is 1, so o is v and every number
// can be followed by hand. m = 1, l = 2, d = 2, d_context = 1, d_out = 2.
//   v_0 = [3]*[1 2] + [0 1] = [3 7],  v_1 = [3]*[-1 0] + [5 0] = [2 0]
//   y = [3 7 2 0] * W_O + b_O = [3 + 2*2, 7 + 10] = [7, 17]
TEST(MultiHead, EveryStepByHand) {
  const Values x = {1, 2}, z = {3};
  const Values w_q = {1, 1, 2, 0};  // head 0: [1 1]^T, head 1: [2 0]^T
  const Values w_k = {4, 5}, w_v = {1, 2, -1, 0}, b_v = {0, 1, 5, 0};
  const Values w_o = {1, 0, 0, 1, 2, 0, 0, 3}, b_o = {0, 10}, b_q = {10, 0}, b_k = {0, -1};
  const Weights weights = {.w_q = bhnd(w_q.data(), 1, 2, 2, 1),
                           .w_k = bhnd(w_k.data(), 1, 2, 1, 1),
                           .w_v = bhnd(w_v.data(), 1, 2, 1, 2),
                           .w_o = matrix(w_o, 4, 2),
                           .b_q = bhnd(b_q.data(), 1, 2, 1, 1),
                           .b_k = bhnd(b_k.data(), 1, 2, 1, 1),
                           .b_v = bhnd(b_v.data(), 1, 2, 1, 2),
                           .b_o = matrix(b_o, 1, 2)};
  const auto r = multi_head<double>(matrix(x, 1, 2), matrix(z, 1, 1), weights);
  EXPECT_EQ(r.q.values, (Values{13, 2}));
  EXPECT_EQ(r.k.values, (Values{12, 14}));
  EXPECT_EQ(r.v.values, (Values{3, 7, 2, 0}));
  EXPECT_EQ(r.attention.raw.values, (Values{13 * 12, 2 * 14}));
  EXPECT_EQ(r.attention.p.values, (Values{1, 1}));
  EXPECT_EQ(r.concat.values, (Values{3, 7, 2, 0}));
  EXPECT_EQ(r.y.values, (Values{7, 17}));
  const ParameterCount count = parameter_count(weights);
  EXPECT_EQ(count.heads, 4u + 2 + 4);
  EXPECT_EQ(count.output, 8u);
  EXPECT_EQ(count.biases, 2u + 2 + 4 + 2);
  EXPECT_EQ(count.total(), 28u);
  EXPECT_EQ(multi_head<float>(matrix(x, 1, 2), matrix(z, 1, 1), weights).y.values,
            (std::vector<float>{7, 17}));
}

TEST(MultiHead, PackedWeightsAreTheHeadsSideBySide) {
  constexpr std::size_t kHeads = 3, kD = 4, kM = 2, kN = 5;
  const Values x = random_values(kN * kD, 1), packed = random_values(kD * kHeads * kM, 2);
  Values apart(packed.size());
  for (std::size_t h = 0; h < kHeads; ++h)
    for (std::size_t r = 0; r < kD; ++r)
      for (std::size_t c = 0; c < kM; ++c)
        apart[(h * kD + r) * kM + c] = packed[r * kHeads * kM + h * kM + c];
  const auto layer = [&](ConstTensorView w) {
    return multi_head<double>(matrix(x, kN, kD), {.w_q = w, .w_k = w, .w_v = w},
                              {.causal = Causal::upper_left});
  };
  EXPECT_EQ(layer(bnhd(packed.data(), 1, kD, kHeads, kM)).concat.values,
            layer(bhnd(apart.data(), 1, kHeads, kD, kM)).concat.values);
}

TEST(MultiHead, RaggedTokensStayWhereTheyStand) {
  const Values x = random_values(5 * 2, 3), w = random_values(2 * 2 * 2, 4),
               w_o = random_values(4 * 3, 5);
  const ConstTensorView heads = bhnd(w.data(), 1, 2, 2, 2);
  const Weights weights = {.w_q = heads, .w_k = heads, .w_v = heads, .w_o = matrix(w_o, 4, 3)};
  const std::int64_t cu[] = {0, 2, 5};
  const auto both =
      multi_head<double>(matrix(x, 5, 2), weights, {.cu_seqlens_q = cu, .cu_seqlens_k = cu});
  const Values second(x.begin() + 4, x.end());
  const auto first = multi_head<double>(matrix(x, 2, 2), weights);
  const auto last = multi_head<double>(matrix(second, 3, 2), weights);
  Values one_by_one = first.y.values;
  one_by_one.insert(one_by_one.end(), last.y.values.begin(), last.y.values.end());
  EXPECT_EQ(both.y.values, one_by_one);
}

// The notes on heads: d = 512, m = l = 64, T = 8.
TEST(WorkedExamples, ParameterCounts) {
  const float* no_data = nullptr;  // counting reads none
  const auto w = bnhd(no_data, 1, 512, 8, 64);
  const ParameterCount count =
      parameter_count({.w_q = w, .w_k = w, .w_v = w, .w_o = bhnd(no_data, 1, 1, 512, 512)});
  EXPECT_EQ(count.heads, 786432u);
  EXPECT_EQ(count.output, 262144u);
  EXPECT_EQ(count.total(), 1048576u);
}

// The notes on five words: I is 5 x 512, one head of 512.
TEST(WorkedExamples, FiveWords) {
  const Values words = random_values(5 * 512, 6), w = random_values(512 * 512, 7);
  const auto w_view = matrix(w, 512, 512);
  const auto r =
      multi_head<double>(matrix(words, 5, 512), {.w_q = w_view, .w_k = w_view, .w_v = w_view});
  for (const Tensor<double>* t : {&r.q, &r.k, &r.v, &r.attention.o}) {
    EXPECT_EQ(t->rows, 5u);
    EXPECT_EQ(t->cols, 512u);
  }
  EXPECT_EQ(r.attention.raw.rows, 5u);
  EXPECT_EQ(r.attention.raw.cols, 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(r.attention.scaled.at(0, 0, i, 2),
              r.attention.raw.at(0, 0, i, 2) * (1 / std::sqrt(512.0)));
    double sum = 0;
    for (std::size_t j = 0; j < 5; ++j) sum += r.attention.p.at(0, 0, i, j);
    EXPECT_NEAR(sum, 1, 5 * DBL_EPSILON);
  }
}

// X n x d, W^q and W^k d x m, W^v d x l with m != l, Y n x d; keys from another sequence.
TEST(WorkedExamples, HeadsOfTwoSizesAcrossTwoLengths) {
  const Values y = random_values(3 * 4, 8), z = random_values(5 * 4, 9);
  const Values w_qk = random_values(2 * 4 * 3, 10), w_v = random_values(2 * 4 * 5, 11),
               w_o = random_values(10 * 4, 12);
  const auto m = bhnd(w_qk.data(), 1, 2, 4, 3);
  const auto r = multi_head<double>(
      matrix(y, 3, 4), matrix(z, 5, 4),
      {.w_q = m, .w_k = m, .w_v = bhnd(w_v.data(), 1, 2, 4, 5), .w_o = matrix(w_o, 10, 4)});
  EXPECT_EQ(r.attention.p.rows, 3u);
  EXPECT_EQ(r.attention.p.cols, 5u);
  EXPECT_EQ(r.attention.o.cols, 5u);
  EXPECT_EQ(r.concat.cols, 10u);
  EXPECT_EQ(r.y.rows, 3u);
  EXPECT_EQ(r.y.cols, 4u);
}

class MultiHeadErrors : public ::testing::Test {
 protected:
  const Values numbers = Values(64);
  ConstTensorView x = matrix(numbers, 3, 4), w = bhnd(numbers.data(), 1, 2, 4, 2);
  Weights weights = {.w_q = w, .w_k = w, .w_v = w, .w_o = matrix(numbers, 4, 4)};

  std::string error() const {
    try {
      multi_head<double>(x, weights);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(MultiHeadErrors, NameBothValues) {
  EXPECT_EQ(error(), "no error");
  weights.w_q.tokens = 5;
  EXPECT_EQ(error(), "multi_head: x has 4 columns but W_Q has 5 rows");
  weights.w_q = w;
  weights.w_v.batch = 2;
  EXPECT_EQ(error(), "multi_head: W_V has batch 2, expected 1");
  weights.w_v = w;
  weights.w_o.tokens = 3;
  EXPECT_EQ(error(), "multi_head: concat has 4 columns but W_O has 3 rows");
  weights.w_o = w;
  EXPECT_EQ(error(), "multi_head: W_O has 2 heads, expected 1");
  weights.w_o = matrix(numbers, 4, 4);
  weights.b_o = matrix(numbers, 1, 3);
  EXPECT_EQ(error(), "multi_head: b_O is [1, 1, 3] but W_O needs [1, 1, 4]");
  weights.b_o = matrix(numbers, 1, 4);
  weights.w_o = {};
  EXPECT_EQ(error(), "multi_head: b_O has 4 values but there is no W_O");
  weights.b_o = {};
  weights.b_k = bhnd(numbers.data(), 1, 1, 1, 4);
  EXPECT_EQ(error(), "multi_head: b_K is [1, 1, 4] but W_K needs [2, 1, 2]");
  weights.b_k = {};
  weights.w_k.data = nullptr;
  EXPECT_THAT(error(), HasSubstr("W_K has no data"));
  weights.w_k = w;
  x.heads = 2;
  EXPECT_EQ(error(), "multi_head: x has 2 heads, expected 1");
}

TEST_F(MultiHeadErrors, HeadsThatDoNotMatchAreTheOperatorsErrors) {
  weights.w_k = weights.w_v = bhnd(numbers.data(), 1, 4, 4, 2);
  EXPECT_EQ(error(), "attention: query has 2 heads, which is not a multiple of key's 4");
}

// Projection, norm, RoPE and attention of two tokens, followed by hand: x = [3], [4]; all weights 1
// over two channels, so every row of q is [x, x], normed to [1, 1] and turned by its position.
TEST(MultiHead, NormsAndTurnsBeforeTheAttention) {
  const Values x = {3, 4}, w = {1, 1}, w_v = {1};
  const auto r = multi_head<double>(
      matrix(x, 2, 1), {.w_q = matrix(w, 1, 2), .w_k = matrix(w, 1, 2), .w_v = matrix(w_v, 1, 1)},
      {.scale = 1.0, .query_offset = 1}, {.qk_norm = QkNorm{.epsilon = 0}, .rotary = Rotary{}});
  EXPECT_EQ(r.q.values, (Values{3, 3, 4, 4}));
  // [cos p - sin p, cos p + sin p]: queries at 1 and 2, keys at 0 and 1.
  const auto turned = [](double p) {
    return Values{std::cos(p) - std::sin(p), std::cos(p) + std::sin(p)};
  };
  EXPECT_THAT(r.q_finished.values, Pointwise(DoubleNear(1e-15), {turned(1)[0], turned(1)[1],
                                                                 turned(2)[0], turned(2)[1]}));
  EXPECT_THAT(r.k_finished.values,
              Pointwise(DoubleNear(1e-15), {1.0, 1.0, turned(1)[0], turned(1)[1]}));
  // q_i . k_j = 2 cos(i + 1 - j)
  EXPECT_THAT(r.attention.raw.values,
              Pointwise(DoubleNear(1e-14),
                        {2 * std::cos(1), 2 * std::cos(0), 2 * std::cos(2), 2 * std::cos(1)}));
  const std::vector<std::int64_t> places = {0, 7};
  const auto placed = multi_head<double>(
      matrix(x, 2, 1), {.w_q = matrix(w, 1, 2), .w_k = matrix(w, 1, 2), .w_v = matrix(w_v, 1, 1)},
      {.scale = 1.0},
      {.qk_norm = QkNorm{.epsilon = 0},
       .rotary = Rotary{},
       .query_positions = places,
       .key_positions = places});
  EXPECT_NEAR(placed.attention.raw.values[1], 2 * std::cos(7), 1e-14);
}

}  // namespace
}  // namespace heed::reference
