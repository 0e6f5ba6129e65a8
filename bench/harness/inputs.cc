#include "bench/harness/inputs.h"

#include <algorithm>
#include <cmath>

#include "heed/error.h"

namespace heed::bench {
namespace {

// Number `index` of stream `seed`: the sum of the four 16-bit parts of a mixed counter
// (splitmix64), centred and scaled to deviation 1. Near enough to a normal distribution, and fast.
float noise(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = (seed << 48) + index * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  const auto sum =
      static_cast<std::int32_t>((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
  constexpr float kDeviation = 37837.2f;  // 65536 * sqrt(4 / 12)
  return static_cast<float>(sum - 2 * 65535) / kDeviation;
}

constexpr std::size_t kInt8Tokens = 64;  // that are made at a time

enum Seed : std::uint64_t { kQueries = 1, kKeysValues = 2, kBias = 3 };

template <class T>
T stored(float x) {
  if constexpr (std::is_same_v<T, f16>) return to_f16(x);
  if constexpr (std::is_same_v<T, bf16>) return to_bf16(x);
  if constexpr (std::is_same_v<T, float>) return x;
}

template <class T>
void fill(AlignedVector<T>& values, std::size_t size, Seed seed) {
  values.resize(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = stored<T>(noise(seed, i));
}

std::size_t query_size(const Shape& shape) {
  const std::size_t batch = shape.shortest == 0 ? shape.batch : 1;
  return batch * shape.query_heads * query_tokens(shape) * shape.head_dim;
}

std::size_t kv_size(const Shape& shape) {
  return static_cast<std::size_t>(kv_bytes(shape)) / size_of(shape.kv_dtype);
}

// The view of a shape's queries, keys, values or output: ragged ones are token by token, as
// batches without padding are made, and so are those of a layer; the others head by head.
template <class T>
auto view_of(const Shape& shape, T* data, std::size_t heads, std::size_t tokens) {
  if (shape.kind == Kind::layer) return bnhd(data, shape.batch, tokens, heads, shape.head_dim);
  return shape.shortest == 0 ? bhnd(data, shape.batch, heads, tokens, shape.head_dim)
                             : bnhd(data, std::size_t{1}, tokens, heads, shape.head_dim);
}

// The keys and values of an i8 shape: the same kind of numbers, a few tokens at a time.
KVCache int8_cache(const Shape& shape) {
  KVCache cache({.batch = shape.batch,
                 .kv_heads = shape.kv_heads,
                 .key_dim = shape.head_dim,
                 .dtype = DType::i8,
                 .capacity = shape.n_k});
  std::vector<float> numbers(2 * shape.batch * shape.kv_heads * kInt8Tokens * shape.head_dim);
  std::uint64_t index = 0;
  while (cache.length() < shape.n_k) {
    for (float& x : numbers) x = noise(kKeysValues, index++);
    const std::size_t tokens = std::min(kInt8Tokens, shape.n_k - cache.length());
    const float* values = numbers.data() + numbers.size() / 2;
    cache.append(bhnd(numbers.data(), shape.batch, shape.kv_heads, tokens, shape.head_dim),
                 bhnd(values, shape.batch, shape.kv_heads, tokens, shape.head_dim));
  }
  return cache;
}

}  // namespace

AttentionOptions Problem::options() const {
  AttentionOptions options;
  if (shape.kind == Kind::selfish) options.scale = 1.0f;
  // Weights of deviation 1 make queries and keys of deviation sqrt(d_model); scores shall have 1.
  if (shape.kind == Kind::layer)
    options.scale = 1 / (std::sqrt(static_cast<double>(shape.head_dim)) *
                         static_cast<double>(model_dim(shape)));
  if (shape.causal) options.causal = Causal::upper_left;
  options.bias = bias;
  options.cu_seqlens_q = cu_seqlens;
  options.cu_seqlens_k = cu_seqlens;
  return options;
}

TensorView output_view(const Problem& problem, float* data) {
  const Shape& shape = problem.shape;
  return view_of(shape, data, shape.query_heads, query_tokens(shape));
}

std::size_t output_size(const Shape& shape) {
  return query_size(shape);  // d_v = d_k in every shape
}

Inputs::Inputs(std::span<const Shape> shapes) {
  std::size_t queries = 0, bias = 0, f32s = 0, f16s = 0, bf16s = 0;
  for (const Shape& shape : shapes) {
    queries = std::max(queries, query_size(shape));
    if (shape.bias) bias = std::max(bias, shape.query_heads * shape.n_q * shape.n_k);
    if (shape.kv_dtype == DType::i8) {
      caches_.emplace(label_of(shape), int8_cache(shape));
      f32s = std::max(f32s, static_cast<std::size_t>(kv_bytes(shape)) / sizeof(float));
      continue;
    }
    std::size_t& kv = shape.kv_dtype == DType::f16    ? f16s
                      : shape.kv_dtype == DType::bf16 ? bf16s
                                                      : f32s;
    kv = std::max(kv, kv_size(shape));
  }
  fill(queries_, queries, kQueries);
  fill(bias_, bias, kBias);
  fill(kv_f32_, f32s, kKeysValues);
  fill(kv_f16_, f16s, kKeysValues);
  fill(kv_bf16_, bf16s, kKeysValues);
}

Problem Inputs::problem(const Shape& shape) const {
  Problem problem;
  problem.shape = shape;
  problem.q = view_of(shape, queries_.data(), shape.query_heads, query_tokens(shape));
  const auto bind = [&](const auto* kv) {
    const std::size_t values_at = shape.kind == Kind::selfish ? 0 : kv_size(shape) / 2;
    if (shape.kind == Kind::layer) {
      problem.k = bhnd(kv, 1, 2, model_dim(shape), model_dim(shape));
      problem.v = bhnd(kv + values_at, 1, 2, model_dim(shape), model_dim(shape));
      return;
    }
    problem.k = view_of(shape, kv, shape.kv_heads, key_tokens(shape));
    problem.v = view_of(shape, kv + values_at, shape.kv_heads, key_tokens(shape));
  };
  if (shape.kv_dtype == DType::i8) {
    problem.cache = &caches_.at(label_of(shape));
    problem.k = problem.cache->keys();
    problem.v = problem.cache->values();
  } else if (shape.kv_dtype == DType::f16) {
    bind(kv_f16_.data());
  } else if (shape.kv_dtype == DType::bf16) {
    bind(kv_bf16_.data());
  } else {
    bind(kv_f32_.data());
  }
  if (shape.bias) {
    problem.bias = scores(bias_.data(), 1, shape.query_heads, shape.n_q, shape.n_k);
  }
  if (shape.shortest != 0) {
    problem.cu_seqlens.push_back(0);
    for (const std::size_t length : sequence_lengths(shape))
      problem.cu_seqlens.push_back(problem.cu_seqlens.back() + static_cast<std::int64_t>(length));
  }
  return problem;
}

std::span<const std::byte> Inputs::kv_memory(const Shape& shape) const {
  const void* data = shape.kv_dtype == DType::i8 ? kv_f32_.data() : problem(shape).k.data;
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(kv_bytes(shape))};
}

}  // namespace heed::bench
