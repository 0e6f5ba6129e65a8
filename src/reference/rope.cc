#include "reference/rope.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/checks.h"
#include "base/rotary.h"
#include "reference/double_double.h"
#include "reference/math.h"
#include "reference/matrix.h"

namespace heed::reference {
namespace {

// pi / 2 to 106 bits.
constexpr DoubleDouble kQuarterTurn = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54};

// angle - k pi/2.
DoubleDouble remainder(double angle, double k) {
  const DoubleDouble hi = two_product(k, kQuarterTurn.hi), lo = two_product(k, kQuarterTurn.lo);
  return DoubleDouble{angle, 0} + DoubleDouble{-hi.hi, -hi.lo} + DoubleDouble{-lo.hi, -lo.lo};
}

// sin(r) = r - r^3/6 + ... and cos(r) = 1 - r^2/2 + ... for |r| <= 0.8; the terms left out are
// below 2^-60. Only the leading terms need the lower half of r.
double sin_near_zero(DoubleDouble r) {
  const double r2 = r.hi * r.hi;
  double tail = 0;
  for (int n = 19; n > 1; n -= 2) tail = (1 - tail) * r2 / (n * (n - 1));
  return r.hi + (r.lo - r.hi * tail);
}
double cos_near_zero(DoubleDouble r) {
  const double r2 = r.hi * r.hi;
  double tail = 0;
  for (int n = 20; n > 2; n -= 2) tail = (1 - tail) * r2 / (n * (n - 1));
  const DoubleDouble half_square = r * DoubleDouble{r.hi / 2, r.lo / 2};
  const DoubleDouble lead = two_sum(1, -half_square.hi);
  return lead.hi + (lead.lo - half_square.lo + half_square.hi * tail);
}

double weight_at(VectorView weight, std::size_t c) {
  return weight ? load(weight.data, weight.dtype, static_cast<std::ptrdiff_t>(c)) : 1.0;
}

}  // namespace

CosSin cos_sin(double angle) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(angle)) return {kNaN, kNaN};
  const double k = std::nearbyint(angle / kQuarterTurn.hi);
  const DoubleDouble r = remainder(angle, k);
  const double c = cos_near_zero(r), s = sin_near_zero(r);
  const double turn = k - 4 * std::floor(k / 4);  // 0, 1, 2 or 3 quarters
  if (turn == 0) return {c, s};
  if (turn == 1) return {-s, c};
  if (turn == 2) return {-c, -s};
  return {s, -c};
}

template <class T>
void norm_rows(Tensor<T>& t, VectorView weight, double epsilon) {
  for (std::size_t row = 0; row < t.values.size(); row += t.cols) {
    T sum = 0;
    for (std::size_t c = 0; c < t.cols; ++c) sum += t.values[row + c] * t.values[row + c];
    const T root = std::sqrt(sum / static_cast<T>(t.cols) + static_cast<T>(epsilon));
    for (std::size_t c = 0; c < t.cols; ++c)
      t.values[row + c] = t.values[row + c] / root * static_cast<T>(weight_at(weight, c));
  }
}

template <class T>
void turn_rows(Tensor<T>& t, const Rotary& rotary, std::span<const std::int64_t> positions) {
  const std::size_t dims = turning_dims(rotary, t.cols), pairs = dims / 2;
  require(positions.size() == t.batch * t.rows, "rotary: ", positions.size(),
          " positions are given but there are ", t.batch * t.rows, " tokens");
  const bool half_split = rotary.pairs == RotaryPairs::half_split;
  for (std::size_t c = 0; c < pairs; ++c) {
    const double exponent = -2.0 * static_cast<double>(c) / static_cast<double>(dims);
    const double frequency =
        rotary.frequencies.empty() ? exp(exponent * log(rotary.base)) : rotary.frequencies[c];
    for (std::size_t b = 0; b < t.batch; ++b)
      for (std::size_t i = 0; i < t.rows; ++i) {
        const double position = static_cast<double>(positions[b * t.rows + i]);
        const CosSin angle = cos_sin(position / rotary.scaling * frequency);
        const T cosine = static_cast<T>(angle.cos), sine = static_cast<T>(angle.sin);
        for (std::size_t h = 0; h < t.heads; ++h) {
          T& x = t.at(b, h, i, half_split ? c : 2 * c);
          T& y = t.at(b, h, i, half_split ? c + pairs : 2 * c + 1);
          const T turned = x * cosine - y * sine;
          y = y * cosine + x * sine;
          x = turned;
        }
      }
  }
}

template void norm_rows<double>(Tensor<double>&, VectorView, double);
template void norm_rows<float>(Tensor<float>&, VectorView, double);
template void turn_rows<double>(Tensor<double>&, const Rotary&, std::span<const std::int64_t>);
template void turn_rows<float>(Tensor<float>&, const Rotary&, std::span<const std::int64_t>);

}  // namespace heed::reference
