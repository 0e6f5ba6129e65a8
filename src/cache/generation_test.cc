// Generation: a prompt at once, then token by token out of a cache, is one causal attention over
// everything; for every element type, grouped heads, windows and RoPE, contiguous and in pages.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <tuple>
#include <vector>

#include "cache/cache_case_test.h"
#include "heed/layer.h"

namespace heed {
namespace {

using test::Case;
using test::expect_exact;
using test::Random;
using test::tokens_of;

constexpr std::size_t kTokens = 61, kPrompt = 23, kModel = 24, kHeads = 4, kKeyDim = 16,
                      kValueDim = 12;

struct Setting {
  DType dtype;
  std::size_t kv_heads;
  std::optional<std::int64_t> window;
  bool rotary;
};

std::ostream& operator<<(std::ostream& to, const Setting& s) {
  return to << name_of(s.dtype) << " cache, " << s.kv_heads << " key/value heads, window "
            << s.window.value_or(-1) << (s.rotary ? ", RoPE" : "");
}

// A layer with random weights, and its tokens.
struct Model {
  std::vector<float> w_q, w_k, w_v, w_o, x;
  MultiHeadAttention layer;

  Model(const Setting& s, Random& random)
      : w_q(numbers(kModel * kHeads * kKeyDim, random)),
        w_k(numbers(kModel * s.kv_heads * kKeyDim, random)),
        w_v(numbers(kModel * s.kv_heads * kValueDim, random)),
        w_o(numbers(kModel * kHeads * kValueDim, random)),
        x(numbers(kTokens * kModel, random)),
        layer({.d_model = kModel,
               .query_heads = kHeads,
               .kv_heads = s.kv_heads,
               .key_dim = kKeyDim,
               .value_dim = kValueDim,
               .rotary = s.rotary ? std::optional<Rotary>(Rotary{}) : std::nullopt},
              {.query = in_out(w_q.data(), kModel, kHeads * kKeyDim),
               .key = in_out(w_k.data(), kModel, s.kv_heads * kKeyDim),
               .value = in_out(w_v.data(), kModel, s.kv_heads * kValueDim),
               .output = in_out(w_o.data(), kHeads * kValueDim, kModel)}) {}

  static std::vector<float> numbers(std::size_t n, Random& random) {
    std::vector<float> all(n);
    for (float& number : all) number = 0.3f * random.normal();
    return all;
  }
  ConstSequenceView tokens(std::size_t first, std::size_t count) const {
    return sequences(x.data() + first * kModel, 1, count, kModel);
  }
};

float element(ConstTensorView t, std::size_t h, std::size_t i, std::size_t c) {
  return static_cast<const float*>(
      t.data)[static_cast<std::ptrdiff_t>(h) * t.head_stride +
              static_cast<std::ptrdiff_t>(i) * t.token_stride + static_cast<std::ptrdiff_t>(c)];
}

void take(test::Stored& to, ConstTensorView from) {
  for (std::size_t h = 0; h < to.heads; ++h)
    for (std::size_t t = 0; t < to.tokens; ++t)
      for (std::size_t c = 0; c < to.dim; ++c) to.set(0, h, t, c, element(from, h, t, c));
}

// Wrong tokens of the right shape.
ConstTensorView wrong(ConstTensorView t) {
  static const std::vector<float> sevens(kKeyDim, 7.0f);
  t.data = sevens.data();
  t.batch_stride = t.head_stride = t.token_stride = 0;
  return t;
}

class Generation : public testing::TestWithParam<
                       std::tuple<DType, std::size_t, std::optional<std::int64_t>, bool>> {
 protected:
  Generation()
      : setting_{std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()),
                 std::get<3>(GetParam())} {}

  // The whole problem at once, q, k and v as the layer projects them.
  void describe_whole() {
    const bool int8 = setting_.dtype == DType::i8;
    whole_.query_heads = kHeads;
    whole_.kv_heads = setting_.kv_heads;
    whole_.n_q = whole_.n_k = kTokens;
    whole_.d_k = kKeyDim;
    whole_.d_v = kValueDim;
    whole_.q_type = whole_.kv_type = int8 ? DType::f32 : setting_.dtype;
    whole_.options.causal = Causal::upper_left;
    whole_.options.window_left = setting_.window;
    whole_.make(random_);
    LayerProjections steps(model_.layer, 1, kTokens, kTokens);
    const auto heads = steps.project(model_.tokens(0, kTokens));
    take(whole_.q, heads.q);
    take(whole_.k, heads.k);
    take(whole_.v, heads.v);
  }

  // The next `count` tokens: their keys and values join, then their queries attend.
  template <class Append, class Attend>
  void step(std::size_t first, std::size_t count, Append&& append, Attend&& attend) {
    LayerProjections steps(model_.layer, 1, count, count);
    const auto heads =
        steps.project(model_.tokens(first, count), {.first = static_cast<std::int64_t>(first)});
    append(heads.k, heads.v);
    TensorView out = whole_.out.view();
    out.data = static_cast<std::byte*>(out.data) +
               static_cast<std::ptrdiff_t>(first * size_of(out.dtype)) * out.token_stride;
    out.tokens = count;
    RowView lse = rows(whole_.lse.data(), kHeads, kTokens);
    lse.data += first;
    attend(tokens_of(whole_.q.view(), first, count), out, lse,
           AttentionOptions{.causal = Causal::lower_right, .window_left = setting_.window});
  }

  template <class Append, class Attend>
  void generate(Append&& append, Attend&& attend) {
    step(0, kPrompt, append, attend);
    for (std::size_t t = kPrompt; t < kTokens; ++t) step(t, 1, append, attend);
  }

  Setting setting_;
  Random random_{11};
  Model model_{setting_, random_};
  Case whole_;
};

TEST_P(Generation, TokenByTokenIsOneCausalAttention) {
  describe_whole();
  KVCache cache({.kv_heads = setting_.kv_heads,
                 .key_dim = kKeyDim,
                 .value_dim = kValueDim,
                 .dtype = setting_.dtype});
  generate([&](ConstTensorView k, ConstTensorView v) { cache.append(k, v); },
           [&](ConstTensorView q, TensorView out, RowView lse, const AttentionOptions& options) {
             attention(q, cache, out, lse, options);
           });
  test::Allowed more;
  if (setting_.dtype == DType::i8) {
    take_int8(whole_, cache);
    more = test::int8_allowed(whole_);
  }
  SCOPED_TRACE(testing::PrintToString(setting_));
  expect_exact(whole_, test::Made::whole, more);
}

// Drafted tokens are appended, attended to and taken back: they leave no trace.
TEST_P(Generation, InPagesWithForksAndRejectedTokensGivesTheSameBits) {
  describe_whole();
  KVCache cache({.kv_heads = setting_.kv_heads,
                 .key_dim = kKeyDim,
                 .value_dim = kValueDim,
                 .dtype = setting_.dtype});
  generate([&](ConstTensorView k, ConstTensorView v) { cache.append(k, v); },
           [&](ConstTensorView q, TensorView out, RowView lse, const AttentionOptions& options) {
             attention(q, cache, out, lse, options);
           });
  const test::Bits expected = test::bits(whole_);

  PagedKVCache paged({.kv_heads = setting_.kv_heads,
                      .key_dim = kKeyDim,
                      .value_dim = kValueDim,
                      .dtype = setting_.dtype,
                      .pages = 40,
                      .page_size = 5});
  SequenceId id = paged.add();
  generate(
      [&](ConstTensorView k, ConstTensorView v) {
        const std::size_t length = paged.length(id);
        for (int draft = 0; draft < 2; ++draft) paged.append(id, wrong(k), wrong(v));
        paged.truncate(id, length);
        const SequenceId next = paged.fork(id);
        paged.append(id, wrong(k), wrong(v));  // into what the fork still shares
        paged.remove(id);
        id = next;
        paged.append(id, k, v);
      },
      [&](ConstTensorView q, TensorView out, RowView lse, const AttentionOptions& options) {
        attention(q, paged, std::span(&id, 1), out, lse, options);
      });
  EXPECT_EQ(test::bits(whole_), expected) << setting_;
}

INSTANTIATE_TEST_SUITE_P(
    Every, Generation,
    testing::Combine(testing::Values(DType::f32, DType::f16, DType::bf16, DType::i8),
                     testing::Values<std::size_t>(4, 2, 1),
                     testing::Values(std::nullopt, std::optional<std::int64_t>(7)),
                     testing::Bool()));

}  // namespace
}  // namespace heed
