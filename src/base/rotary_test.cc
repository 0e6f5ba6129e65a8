#include "base/rotary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "heed/error.h"

namespace heed {
namespace {

using ::testing::ElementsAre;

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Rotary, WhatCannotTurnIsRefusedWithBothValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double three[3] = {1, 1, 1}, broken[2] = {1, kInfinity};
  const auto error = [](const Rotary& r, std::size_t head_dim) {
    return error_of([&] { turning_dims(r, head_dim); });
  };
  EXPECT_EQ(turning_dims({}, 8), 8u);
  EXPECT_EQ(turning_dims({.dims = 4}, 9), 4u);
  EXPECT_EQ(error({}, 7), "rotary: dims is 7, expected an even number up to the head's 7");
  EXPECT_EQ(error({.dims = 10}, 8),
            "rotary: dims is 10, expected an even number up to the head's 8");
  EXPECT_EQ(error({.base = 0}, 8), "rotary: base is 0, expected a finite number above 0");
  EXPECT_EQ(error({.scaling = -2}, 8), "rotary: scaling is -2, expected a finite number above 0");
  EXPECT_EQ(error({.frequencies = three}, 8),
            "rotary: 3 frequencies are given but there are 4 pairs");
  EXPECT_EQ(error({.frequencies = broken}, 4),
            "rotary: frequencies[1] is inf, expected a finite number");
}

TEST(Rotary, ANormOfTheWrongSizeIsRefused) {
  const float weight[3] = {};
  EXPECT_NO_THROW(require_norm({}, 4));
  EXPECT_EQ(error_of([&] { require_norm({.key = vector_of(weight, 3)}, 4); }),
            "key norm has 3 values but a head's row has 4");
  EXPECT_EQ(error_of([&] { require_norm({.epsilon = -1}, 4); }),
            "qk_norm: epsilon is -1, expected a finite number of at least 0");
}

TEST(Rotary, TokensStandWhereTheOperatorPlacesThem) {
  const float data[1] = {};
  const auto problem = [&](std::size_t batch, std::size_t n_q, std::size_t n_k,
                           const AttentionOptions& options) {
    return describe(bhnd(data, batch, 1, n_q, 1), bhnd(data, batch, 1, n_k, 1),
                    bhnd(data, batch, 1, n_k, 1), options);
  };
  std::vector<std::int64_t> q(4), k(6);
  const std::int64_t lengths[2] = {2, 3};
  const Problem padded = problem(2, 2, 3, {.causal = Causal::lower_right, .key_lengths = lengths});
  place_queries(padded, 2, q);
  place_keys(padded, 3, k);
  EXPECT_THAT(q, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(k, ElementsAre(0, 1, 2, 0, 1, 2));

  const std::int64_t cu_q[3] = {0, 1, 4}, cu_k[3] = {0, 4, 6};
  const Problem ragged =
      problem(1, 4, 6, {.query_offset = 5, .cu_seqlens_q = cu_q, .cu_seqlens_k = cu_k});
  place_queries(ragged, 4, q);
  place_keys(ragged, 6, k);
  EXPECT_THAT(q, ElementsAre(5, 5, 6, 7));
  EXPECT_THAT(k, ElementsAre(0, 1, 2, 3, 0, 1));
}

}  // namespace
}  // namespace heed
