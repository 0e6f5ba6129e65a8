// One element of a tensor as a float, and back, rounded as in heed/dtype.h.
#pragma once

#include "heed/dtype.h"

namespace heed {

inline float as_float(float x) {
  return x;
}
inline float as_float(f16 x) {
  return to_float(x);
}
inline float as_float(bf16 x) {
  return to_float(x);
}

inline void assign(float& to, float x) {
  to = x;
}
inline void assign(f16& to, float x) {
  to = to_f16(x);
}
inline void assign(bf16& to, float x) {
  to = to_bf16(x);
}

}  // namespace heed
