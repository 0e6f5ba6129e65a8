// exp, log and tanh of the reference: the same bits on every platform, which no libm promises.
//
// Double results err by at most 0.51 ulp over the whole range, subnormals included; infinities and
// NaN give what <cmath> gives. The float versions are the double ones rounded to float.
#pragma once

namespace heed::reference {

double exp(double x);
double log(double x);
double tanh(double x);

inline float exp(float x) {
  return static_cast<float>(exp(static_cast<double>(x)));
}
inline float log(float x) {
  return static_cast<float>(log(static_cast<double>(x)));
}
inline float tanh(float x) {
  return static_cast<float>(tanh(static_cast<double>(x)));
}

}  // namespace heed::reference
