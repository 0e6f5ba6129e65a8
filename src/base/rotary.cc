#include "base/rotary.h"

#include <cmath>
#include <string_view>

#include "base/checks.h"

namespace heed {
namespace {

void require_weight(std::string_view name, VectorView weight, std::size_t head_dim) {
  if (!weight) return;
  require_dtype(name, weight.dtype, {DType::f32, DType::f16, DType::bf16});
  require(weight.size == head_dim, name, " has ", weight.size, " values but a head's row has ",
          head_dim);
}

// Unsigned, so that no offset overflows; such a one is nobody's position.
std::int64_t advance(std::int64_t first, std::size_t n) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + n);
}

}  // namespace

void require_norm(const QkNorm& norm, std::size_t head_dim) {
  require_weight("query norm", norm.query, head_dim);
  require_weight("key norm", norm.key, head_dim);
  require(std::isfinite(norm.epsilon) && norm.epsilon >= 0, "qk_norm: epsilon is ", norm.epsilon,
          ", expected a finite number of at least 0");
}

std::size_t turning_dims(const Rotary& rotary, std::size_t head_dim) {
  const std::size_t dims = rotary.dims.value_or(head_dim);
  require(dims % 2 == 0 && dims <= head_dim, "rotary: dims is ", dims,
          ", expected an even number up to the head's ", head_dim);
  require(std::isfinite(rotary.base) && rotary.base > 0, "rotary: base is ", rotary.base,
          ", expected a finite number above 0");
  require(std::isfinite(rotary.scaling) && rotary.scaling > 0, "rotary: scaling is ",
          rotary.scaling, ", expected a finite number above 0");
  require(rotary.frequencies.empty() || rotary.frequencies.size() == dims / 2,
          "rotary: ", rotary.frequencies.size(), " frequencies are given but there are ", dims / 2,
          " pairs");
  for (std::size_t c = 0; c < rotary.frequencies.size(); ++c)
    require(std::isfinite(rotary.frequencies[c]), "rotary: frequencies[", c, "] is ",
            rotary.frequencies[c], ", expected a finite number");
  return dims;
}

void place_queries(const Problem& problem, std::size_t tokens, std::span<std::int64_t> positions) {
  for (const Sequence& s : problem.sequences)
    for (std::size_t i = 0; i < s.queries; ++i)
      positions[s.batch * tokens + s.first_query + i] = advance(s.offset, i);
}

void place_keys(const Problem& problem, std::size_t tokens, std::span<std::int64_t> positions) {
  for (const Sequence& s : problem.sequences)
    for (std::size_t j = 0; j < s.keys; ++j)
      positions[s.batch * tokens + s.first_key + j] = advance(0, j);
}

}  // namespace heed
