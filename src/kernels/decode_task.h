// What one decode task is told; see decode.h.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/decode.h"
#include "kernels/state_merge.h"

namespace heed::kernels {

inline std::size_t decode_score_stride(std::size_t tile_keys) {
  return tile_keys + 16;  // rows fall into different sets of the cache
}

// Keys whose weights are rounded together before they multiply int8 values. At worst all but one
// are rounded by half a step, 1 / 65534 of the largest weight: together by less than half of what
// the bytes themselves may be off. Fewer keys would cost a visible part of the time.
inline constexpr std::size_t kDecodeBlockKeys = 128;

// The attention states of all rows of a key/value head: o [rows, o_stride], m and l [rows].
struct DecodeState {
  float *o = nullptr, *m = nullptr, *l = nullptr;
  std::size_t o_stride = 0;

  AttentionState row(std::size_t r) const {
    return {.o = {o + r * o_stride, o_stride}, .m = m[r], .l = l[r]};
  }
};

inline DecodeState decode_state(const DecodeShape& shape, float* at) {
  const std::size_t o = shape.rows * shape.o_stride;
  return {at, at + o, at + o + shape.rows, shape.o_stride};
}

struct DecodeTask {
  const Run* run = nullptr;
  const ScoreRules* rules = nullptr;
  const DecodeShape* shape = nullptr;
  std::size_t sequence = 0, kv_head = 0;
  KeyRange keys;      // of this split
  DecodeState state;  // of it
  float* workspace = nullptr;
  bool packed = false;  // the workspace holds this head's queries already
};

}  // namespace heed::kernels
