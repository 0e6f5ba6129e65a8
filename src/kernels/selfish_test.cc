#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "heed/attention.h"
#include "kernels/case_test.h"

namespace heed {
namespace {

using test::for_each_target;
using test::kInf;
using test::kNaN;
using test::Random;
using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

struct Selfish {
  std::size_t batch = 1, tokens = 1, dim = 1;
  std::vector<float> keys = {}, query = {}, out = {};

  void make(Random& random, float scale) {
    keys.resize(batch * tokens * dim);
    query.resize(batch * dim);
    out.assign(batch * dim, kNaN);
    for (float& x : keys) x = random.normal();
    for (float& x : query) x = scale * random.normal();
  }
  void run(const Execution& execution = {}) {
    selfish_attention(keys.data(), query.data(), out.data(), batch, tokens, dim, execution);
  }
  // Errs at most twice as much as the plain float computation, and 2 ulp of exp.
  void expect_exact() {
    const auto truth =
        reference::selfish_attention<double>(keys.data(), query.data(), batch, tokens, dim).o;
    const auto plain =
        reference::selfish_attention<float>(keys.data(), query.data(), batch, tokens, dim).o;
    double error = 0, mean = 0, plain_error = 0, plain_mean = 0, size = 0;
    for (const float x : keys) size = std::max(size, std::abs(double{x}));
    for (std::size_t n = 0; n < out.size(); ++n) {
      const double t = static_cast<double>(truth.values[n]);
      error = std::max(error, std::abs(out[n] - t));
      mean += std::abs(out[n] - t);
      plain_error = std::max(plain_error, std::abs(static_cast<double>(plain.values[n]) - t));
      plain_mean += std::abs(static_cast<double>(plain.values[n]) - t);
    }
    const auto count = static_cast<double>(out.size());
    EXPECT_LE(error, 2 * plain_error + 2 * 0x1p-23 * size) << tokens << " keys of " << dim;
    EXPECT_LE(mean / count, 2 * plain_mean / count + 0x1p-23 * size)
        << tokens << " keys of " << dim;
  }
};

// The worked example: three batch rows, to 6 places.
TEST(SelfishAttention, WorkedExample) {
  const float keys[] = {1,  0,  1, 1, 0, -1, -1, 1, 0, -1, 0,  1,   //
                        2,  3,  9, 1, 4, 3,  -1, 0, 5, -1, -2, 0,   //
                        -2, -1, 0, 1, 0, -1, -1, 1, 0, -1, -3, 1};  // [3, 4, 3]
  const float query[] = {2, 0, -1, 1, 1, 1, -2, 1, -1};             // [3, 3]
  for_each_target([&](const std::string&) {
    std::vector<float> out(9);
    selfish_attention(keys, query, out.data(), 3, 4, 3);
    EXPECT_THAT(out, Pointwise(FloatNear(1e-6f), {0.983895f, 0.005887f, -0.753296f,  //
                                                  1.997392f, 3.002336f, 8.984983f,   //
                                                  -1.475725f, -0.009982f, -0.005717f}));
  });
}

TEST(SelfishAttention, AnySizeAgreesWithTheOracle) {
  for_each_target([](const std::string&) {
    Random random(1);
    for (const std::size_t tokens : {1, 2, 3, 4, 5, 15, 16, 17, 33, 512})
      for (const std::size_t dim : {1, 3, 4, 7, 8, 15, 16, 17, 31, 40, 63, 64, 65, 100, 129}) {
        Selfish s{.batch = 2, .tokens = tokens, .dim = dim};
        s.make(random, 1 / std::sqrt(static_cast<float>(dim)));
        s.run();
        s.expect_exact();
      }
    Selfish wide{.batch = 2, .tokens = 20, .dim = 4096};
    wide.make(random, 0.05f);
    wide.run();
    wide.expect_exact();
    Selfish sharp{.batch = 3, .tokens = 100, .dim = 8};
    sharp.make(random, 1e4f);
    sharp.run();
    sharp.expect_exact();
    Selfish rising{.batch = 1, .tokens = 300, .dim = 4};  // every block grows the maximum
    rising.make(random, 1.0f);
    for (std::size_t n = 0; n < rising.keys.size(); ++n)
      rising.keys[n] = 0.01f * static_cast<float>(n);
    rising.query = {1, 1, 1, 1};
    rising.run();
    rising.expect_exact();
  });
  Random random(2);
  Selfish longest{.batch = 1, .tokens = 65536, .dim = 8};
  longest.make(random, 1.0f);
  longest.run();
  longest.expect_exact();
}

TEST(SelfishAttention, TheSameBitsForAnyNumberOfThreadsAndAlone) {
  Random random(3);
  Selfish s{.batch = 70, .tokens = 500, .dim = 64};
  s.make(random, 0.1f);
  s.run({.threads = 1});
  const std::vector<float> expected = s.out;
  for (const std::size_t threads : {2, 3, 8}) {
    s.run({.threads = threads});
    EXPECT_EQ(s.out, expected);
  }
  std::vector<float> alone(64);
  selfish_attention(s.keys.data() + 69 * 500 * 64, s.query.data() + 69 * 64, alone.data(), 1, 500,
                    64);
  EXPECT_EQ(std::memcmp(alone.data(), expected.data() + 69 * 64, 64 * sizeof(float)), 0);
}

TEST(SelfishAttention, NoKeysGiveZeroAndNotNumbersPropagate) {
  for_each_target([](const std::string&) {
    Random random(4);
    Selfish none{.batch = 3, .tokens = 0, .dim = 5};
    none.make(random, 1);
    none.run();
    EXPECT_THAT(none.out, Each(0.0f));
    Selfish bad{.batch = 3, .tokens = 40, .dim = 5};
    bad.make(random, 1);
    bad.keys[40 * 5 + 77] = kNaN;                                         // in row 1 alone
    for (std::size_t j = 0; j < 40; ++j) bad.keys[(80 + j) * 5] = -kInf;  // row 2: all -infinity
    bad.query[10] = 1.0f;
    bad.run();
    for (std::size_t c = 0; c < 5; ++c) {
      EXPECT_TRUE(std::isfinite(bad.out[c]));
      EXPECT_TRUE(std::isnan(bad.out[5 + c]));
      EXPECT_TRUE(std::isnan(bad.out[10 + c]));
    }
  });
}

TEST(SelfishAttention, WhatCannotBeComputedIsAnError) {
  float x[4] = {}, y[4] = {};
  const auto error = [&](const float* keys, float* out, std::size_t batch, std::size_t tokens,
                         std::size_t dim) {
    try {
      selfish_attention(keys, x, out, batch, tokens, dim);
      return std::string("no error");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  EXPECT_THAT(error(y, y + 1, 1, 2, 2), HasSubstr("out shares memory with keys"));
  EXPECT_THAT(error(y, x + 1, 1, 1, 2), HasSubstr("out shares memory with query"));
  EXPECT_EQ(error(y, y + 2, 1, 1, 2), "no error");
  EXPECT_EQ(error(x, x, 1, 1, 0), "selfish_attention: keys have dimension 0, expected at least 1");
  EXPECT_THAT(error(x, x, kHuge, kHuge, 4), HasSubstr("selfish_attention: keys: 1099511627776 x"));
  EXPECT_THAT(error(nullptr, x, 1, 1, 1), HasSubstr("keys has 4 bytes but no data"));
  EXPECT_THAT(error(x, nullptr, 1, 1, 1), HasSubstr("out has 4 bytes but no data"));
  EXPECT_EQ(error(nullptr, nullptr, 0, 9, 9), "no error");
  const Execution refuse{.threads = 1, .progress = {[](double, void*) { return false; }, nullptr}};
  EXPECT_THROW(selfish_attention(x, x, y, 1, 1, 1, refuse), Cancelled);
}

}  // namespace
}  // namespace heed
