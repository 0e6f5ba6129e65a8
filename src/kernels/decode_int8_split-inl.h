// The decode kernel over int8, where integers are multiplied as such (decode_int8-inl.h).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/decode_int8-inl.h"
#include "kernels/decode_split-inl.h"

#if defined(HEED_KERNELS_DECODE_INT8_SPLIT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_DECODE_INT8_SPLIT_INL_H
#undef HEED_KERNELS_DECODE_INT8_SPLIT_INL_H
#else
#define HEED_KERNELS_DECODE_INT8_SPLIT_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

#if HEED_PAIR_PRODUCTS
// Each row decides for itself what is rounded, so that its bits do not depend on the others.
class ByteSplit final : public Split<std::int8_t> {
 public:
  using Split::Split;

  void Run() {
    std::fill_n(Sums(0), shape_.rows * shape_.o_stride, 0);
    Split::Run();
  }

 private:
  // A step that is none: the numbers stay floats.
  static constexpr float kNoStep = std::numeric_limits<float>::quiet_NaN();

  std::int16_t* Query16(std::size_t r) const {
    return reinterpret_cast<std::int16_t*>(Space(shape_.q16)) + r * shape_.q_stride;
  }
  float& QueryStep(std::size_t r) const { return Space(shape_.steps)[r]; }
  float& WeightStep(std::size_t r) const { return Space(shape_.steps)[shape_.rows + r]; }
  std::int16_t* Weights16(std::size_t r) const {
    return reinterpret_cast<std::int16_t*>(Space(shape_.p16)) + r * kBlockKeys;
  }
  std::int32_t* Sums(std::size_t r) const {
    return reinterpret_cast<std::int32_t*>(Space(shape_.sums)) + r * shape_.o_stride;
  }

  void PackQueries() override {
    Split::PackQueries();
    for (std::size_t r = 0; r < shape_.rows; ++r) {
      const float* q = Space(shape_.q) + r * shape_.q_stride;
      const float largest = LargestMagnitude(q, shape_.q_stride);
      const bool fits = problem_.key_dim <= kMostTerms && FitsSteps(largest);
      if (!fits) std::fill_n(Query16(r), shape_.q_stride, std::int16_t{0});
      QueryStep(r) = fits ? RoundToSteps(q, shape_.q_stride, largest, Query16(r)) : kNoStep;
    }
  }

  void ScoreKeysOf(KeyRange keys) override {
    auto* s = reinterpret_cast<std::int32_t*>(Space(shape_.s));
    ForPieces(Keys(), keys, [&](const Piece<1>& piece, std::size_t j, std::size_t) {
      ForStrips([&](auto rows, std::size_t r) {
        ScoreByteBlock<rows>({.q = Query16(r),
                              .q_stride = shape_.q_stride,
                              .k = piece.runs[0],
                              .keys = piece.count,
                              .dim = problem_.key_dim,
                              .s = s + r * stride_ + j,
                              .s_stride = stride_},
                             r == 0 ? piece.asking[0] : Asking());
      });
    });
    const float* scales = ScalesOf(keys_, keys);
    for (std::size_t r = 0; r < rows_; ++r) {
      if (std::isnan(QueryStep(r))) {
        ScoreAsFloats(keys, r);
        ScaleRow(scales, keys.size(), r);
      } else {
        ToScores(s + r * stride_, keys.size(), QueryStep(r), scales, Space(shape_.s) + r * stride_);
      }
    }
  }

  void ScoreAsFloats(KeyRange keys, std::size_t r) {
    ForPieces(Keys(), keys, [&](const Piece<1>& piece, std::size_t j, std::size_t) {
      ScoreBlock<std::int8_t, 1>(Space(shape_.q) + r * shape_.q_stride, shape_.q_stride,
                                 piece.runs[0], piece.count, problem_.key_dim,
                                 Space(shape_.s) + r * stride_ + j, stride_, {});
    });
  }

  void MixValues(KeyRange keys) override {
    // Those that Soften multiplied the weights with.
    const float largest = LargestMagnitude(Space(shape_.scales), Padded(keys.size()));
    for (std::size_t j = keys.begin; j < keys.end; j += kBlockKeys)
      MixWeightBlock(keys.begin, {j, std::min(j + kBlockKeys, keys.end)}, FitsSteps(largest));
  }

  // A block of the tile that begins with key `first`.
  void MixWeightBlock(std::size_t first, KeyRange block, bool may_round) {
    const std::size_t at = block.begin - first;
    for (std::size_t r = 0; r < rows_; ++r)
      RoundWeights(r, Space(shape_.s) + r * stride_ + at, Padded(block.size()), may_round);
    ForPieces(Values(), block, [&](const Piece<1>& piece, std::size_t j, std::size_t) {
      ForStrips([&](auto rows, std::size_t r) {
        MixByteBlock<rows>({.p = Weights16(r) + j,
                            .p_stride = kBlockKeys,
                            .v = piece.runs[0],
                            .keys = piece.count,
                            .dim = problem_.value_dim,
                            .o = Sums(r),
                            .o_stride = shape_.o_stride},
                           r == 0 ? piece.asking[0] : Asking());
      });
    });
    for (std::size_t r = 0; r < rows_; ++r) {
      if (std::isnan(WeightStep(r)))
        MixAsFloats(block, at, r);
      else
        TakeSums(WeightStep(r), Sums(r), shape_.o_stride, task_.state.o + r * shape_.o_stride);
    }
  }

  void RoundWeights(std::size_t r, const float* p, std::size_t n, bool may_round) {
    const float largest = std::max(LargestMagnitude(p, n), kLeastWeight);  // NaN stays NaN
    may_round = may_round && largest < kInf;
    if (!may_round) std::fill_n(Weights16(r), kBlockKeys, std::int16_t{0});
    WeightStep(r) = may_round ? RoundToSteps(p, n, largest, Weights16(r)) : kNoStep;
  }

  void MixAsFloats(KeyRange block, std::size_t at, std::size_t r) {
    ForPieces(Values(), block, [&](const Piece<1>& piece, std::size_t j, std::size_t) {
      MixExactly(MixOf(r, piece, at + j));
    });
  }

  void MixExactly(const Mix& mix) override { MixByteByByte(mix); }

  void InOrder(const float* o, float* to) const override {
    for (std::size_t c = 0; c < problem_.value_dim; ++c) to[c] = o[InBlockOrder(c)];
  }
};
#else
using ByteSplit = Split<std::int8_t>;
#endif  // HEED_PAIR_PRODUCTS

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // per target
