#include "heed/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/case_test.h"

namespace heed {
namespace {

using test::Case;
using test::expect_exact;
using test::for_each_target;
using test::Random;

TEST(Attention, EdgeShapes) {
  for_each_target([](const std::string&) {
    Random random(1);
    for (const std::size_t n_q : {1, 2, 3, 5, 6, 7, 13, 47})
      for (const std::size_t n_k : {1, 2, 15, 16, 17, 33, 511, 512, 513})
        for (const std::size_t d : {1, 8, 17}) {
          Case c;
          c.n_q = n_q;
          c.n_k = n_k;
          c.d_k = d;
          c.d_v = d + 1;
          c.make(random);
          c.run();
          expect_exact(c);
        }
  });
}

// One buffer of floats, and 3 rows of 4 of it as q, k, v or out, begun at any place.
struct SharedBuffer {
  std::vector<float> memory = std::vector<float>(256, 0.5f);

  TensorView rows_at(std::size_t begin, std::ptrdiff_t token_stride = 4) {
    TensorView view = bhnd(memory.data() + begin, 1, 1, 3, 4);
    view.token_stride = token_stride;
    return view;
  }
  // What is said of an out and an lse beside q at 0, k at 12 and v at 24.
  std::string answer(TensorView out, RowView lse = {}, const AttentionOptions& options = {}) {
    const std::vector<float> before = memory;
    try {
      attention(rows_at(0), rows_at(12), rows_at(24), out, lse, options);
    } catch (const Error& e) {
      EXPECT_EQ(memory, before);
      return e.what();
    }
    return "accepted";
  }
};

TEST(Attention, OutputsShareNoMemoryWithWhatIsRead) {
  using ::testing::HasSubstr;
  SharedBuffer b;
  EXPECT_EQ(b.answer(b.rows_at(36)), "accepted");  // touches the values
  EXPECT_THAT(b.answer(b.rows_at(0)), HasSubstr("out shares memory with query"));
  EXPECT_THAT(b.answer(b.rows_at(23)), HasSubstr("out shares memory with key"));
  EXPECT_THAT(b.answer(b.rows_at(35)), HasSubstr("out shares memory with value"));
  EXPECT_THAT(b.answer(b.rows_at(43, -4)), HasSubstr("out shares memory with value"));
  EXPECT_EQ(b.answer(b.rows_at(44, -4)), "accepted");  // the last row touches the values
  EXPECT_THAT(b.answer(b.rows_at(36, 2)), HasSubstr("out has elements that share memory"));
  EXPECT_THAT(b.answer(b.rows_at(36), rows(b.memory.data() + 47, 1, 3)),
              HasSubstr("lse shares memory with out"));
  EXPECT_THAT(b.answer(b.rows_at(36), rows(b.memory.data() + 11, 1, 3)),
              HasSubstr("lse shares memory with query"));
  EXPECT_EQ(b.answer(b.rows_at(36), rows(b.memory.data() + 48, 1, 3)), "accepted");
  const float* scores_at = b.memory.data() + 60;
  const AttentionOptions biased = {.bias = scores(scores_at, 1, 1, 3, 3)};
  const AttentionOptions masked = {
      .mask = scores(reinterpret_cast<const bool*>(scores_at), 1, 1, 1, 3)};
  EXPECT_THAT(b.answer(b.rows_at(68), {}, biased), HasSubstr("out shares memory with bias"));
  EXPECT_EQ(b.answer(b.rows_at(69), {}, biased), "accepted");
  EXPECT_THAT(b.answer(b.rows_at(60), {}, masked), HasSubstr("out shares memory with mask"));
  EXPECT_EQ(b.answer(b.rows_at(61), {}, masked), "accepted");
}

TEST(Attention, OutputsMayLieBetweenTheRowsThatAreRead) {  // q, k, v and out side by side
  Random random(6);
  std::vector<float> memory(3 * 16);
  for (float& x : memory) x = random.normal();
  const auto part = [&](std::size_t n) {
    return TensorView{memory.data() + 4 * n, DType::f32, 1, 1, 3, 4, 48, 48, 16};
  };
  std::vector<float> apart(12);
  attention(part(0), part(1), part(2), bhnd(apart.data(), 1, 1, 3, 4));
  attention(part(0), part(1), part(2), part(3));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(memory[16 * i + 12 + c], apart[4 * i + c]);
}

// Twice on one plan: the second run must not find what the first one left in the workspace.
TEST(Attention, WindowsThatBeginPastTheLastKeySeeNothing) {
  for_each_target([](const std::string&) {
    Random random(5);
    Case c;
    c.n_q = 6;
    c.n_k = 64;
    c.d_k = c.d_v = 16;
    c.make(random);
    std::vector<std::int64_t> offsets = {60};
    const AttentionOptions options = {.query_offsets = offsets, .window_left = 3};
    Plan plan(c.q.view(), c.k.view(), c.v.view(), options);
    plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), {}, options);
    offsets[0] = 200;
    plan.run(c.q.view(), c.k.view(), c.v.view(), c.out.view(), {}, options);
    for (const float x : c.out.f32) EXPECT_EQ(x, 0.0f);
  });
}

}  // namespace
}  // namespace heed
