// RMS norm and rotary positions (heed/rotary.h) in double or plain float, as they are defined.
#pragma once

#include <cstdint>
#include <span>

#include "heed/reference.h"
#include "heed/rotary.h"

namespace heed::reference {

struct CosSin {
  double cos = 1, sin = 0;
};

// Within 1 ulp and |angle| 2^-107, for |angle| < 2^50; the same bits on every platform; NaN unless
// angle is finite.
CosSin cos_sin(double angle);

// Every row of t is normed; `weight` has t.cols values, or none: 1.
template <class T>
void norm_rows(Tensor<T>& t, VectorView weight, double epsilon);

// Row i of batch row b turns by positions[b * rows + i]. The angles are exact, then rounded to T.
template <class T>
void turn_rows(Tensor<T>& t, const Rotary& rotary, std::span<const std::int64_t> positions);

}  // namespace heed::reference
