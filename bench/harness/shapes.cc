#include "bench/harness/shapes.h"

#include <algorithm>
#include <array>

#include "heed/error.h"

namespace heed::bench {
namespace {

constexpr Shape decode(std::string_view name, std::size_t batch, std::size_t n_k, DType kv_dtype,
                       Target target) {
  return {.name = name,
          .kind = Kind::decode,
          .batch = batch,
          .query_heads = 32,
          .kv_heads = 8,
          .n_q = 1,
          .n_k = n_k,
          .head_dim = 128,
          .kv_dtype = kv_dtype,
          .target = target};
}

constexpr Shape prefill(std::string_view name, std::size_t batch, std::size_t query_heads,
                        std::size_t kv_heads, std::size_t tokens, std::size_t head_dim,
                        Target target) {
  return {.name = name,
          .batch = batch,
          .query_heads = query_heads,
          .kv_heads = kv_heads,
          .n_q = tokens,
          .n_k = tokens,
          .head_dim = head_dim,
          .target = target};
}

constexpr Shape causal(Shape shape) {
  shape.causal = true;
  return shape;
}

constexpr Shape with_bias(Shape shape, std::string_view beside) {
  shape.bias = true;
  shape.beside = beside;
  return shape;
}

constexpr Shape ragged(Shape shape, std::size_t shortest, std::string_view beside) {
  shape.shortest = shortest;
  shape.beside = beside;
  return shape;
}

constexpr Shape selfish(std::string_view name, std::size_t batch, std::size_t tokens,
                        std::size_t dim, Target target) {
  return {.name = name,
          .kind = Kind::selfish,
          .batch = batch,
          .query_heads = 1,
          .kv_heads = 1,
          .n_q = 1,
          .n_k = tokens,
          .head_dim = dim,
          .target = target};
}

constexpr Shape layer(std::string_view name, std::size_t heads, std::size_t tokens,
                      std::size_t head_dim, Target target) {
  Shape shape = prefill(name, 1, heads, heads, tokens, head_dim, target);
  shape.kind = Kind::layer;
  return shape;
}

constexpr Target kFull{0.86, 0.92}, kDecode{0.85, 0.97}, kDecodeHalf{0.75, 0.92},
    kDecodeInt8{0.50, 0};

constexpr std::array kShapes = {
    prefill("P1", 1, 8, 8, 512, 64, kFull),
    prefill("P2", 1, 12, 12, 1024, 64, kFull),
    causal(prefill("P2c", 1, 12, 12, 1024, 64, {0.83, 0.89})),
    causal(prefill("P3c", 1, 32, 8, 2048, 128, {0.88, 0.93})),
    causal(prefill("P4c", 1, 8, 8, 8192, 64, {0.85, 0.91})),
    prefill("P5", 16, 12, 12, 128, 64, {0.76, 0.84}),
    with_bias(prefill("P6", 1, 12, 12, 1024, 64, {}), "P2"),
    ragged(causal(prefill("P7", 32, 12, 12, 1024, 64, {})), 16, "P2c"),
    decode("D1", 1, 4096, DType::f32, {0.68, 0.90}),
    decode("D1", 1, 4096, DType::f16, {}),
    decode("D1", 1, 4096, DType::bf16, {}),
    decode("D1", 1, 4096, DType::i8, kDecodeInt8),
    decode("D2", 1, 32768, DType::f32, kDecode),
    decode("D2", 1, 32768, DType::f16, kDecodeHalf),
    decode("D2", 1, 32768, DType::bf16, kDecodeHalf),
    decode("D2", 1, 32768, DType::i8, kDecodeInt8),
    decode("D3", 8, 4096, DType::f32, kDecode),
    decode("D3", 8, 4096, DType::f16, kDecodeHalf),
    decode("D3", 8, 4096, DType::bf16, kDecodeHalf),
    decode("D3", 8, 4096, DType::i8, kDecodeInt8),
    selfish("S1", 1024, 512, 64, {0.85, 0.97}),
    layer("L1", 8, 512, 64, {0.86, 0}),
    layer("L5", 8, 5, 64, {}),
};

bool names(std::string_view name, const Shape& shape) {
  return name == shape.name || name == label_of(shape);
}

std::string known_names() {
  std::string list;
  std::string_view last;
  for (const Shape& shape : kShapes) {
    if (shape.name != last) list += (list.empty() ? "" : ", ") + std::string(shape.name);
    last = shape.name;
  }
  return list + "; a D shape in one type as D1-f32, D1-f16, D1-bf16, D1-i8";
}

}  // namespace

std::span<const Shape> all_shapes() {
  return kShapes;
}

std::string label_of(const Shape& shape) {
  std::string label(shape.name);
  if (shape.kind == Kind::decode) label.append("-").append(name_of(shape.kv_dtype));
  return label;
}

std::vector<Shape> select_shapes(std::span<const std::string> wanted) {
  for (const std::string& name : wanted) {
    if (std::ranges::none_of(kShapes, [&](const Shape& s) { return names(name, s); }))
      throw Error("bench: no shape is called '" + name + "'; there are " + known_names());
  }
  std::vector<Shape> selected;
  std::ranges::copy_if(kShapes, std::back_inserter(selected), [&](const Shape& shape) {
    return wanted.empty() ||
           std::ranges::any_of(wanted, [&](const std::string& n) { return names(n, shape); });
  });
  return selected;
}

std::vector<std::size_t> sequence_lengths(const Shape& shape) {
  if (shape.shortest == 0) return {};
  std::vector<std::size_t> lengths(shape.batch);
  // 11 is odd, so that with a power of two of sequences it visits each length once, out of order.
  constexpr std::size_t kStep = 11;
  for (std::size_t n = 0; n < shape.batch; ++n) {
    const std::size_t rank = n * kStep % shape.batch;
    lengths[n] = shape.shortest + rank * (shape.n_q - shape.shortest) / (shape.batch - 1);
  }
  return lengths;
}

std::size_t query_tokens(const Shape& shape) {
  if (shape.shortest == 0) return shape.n_q;
  std::size_t tokens = 0;
  for (const std::size_t length : sequence_lengths(shape)) tokens += length;
  return tokens;
}

std::size_t key_tokens(const Shape& shape) {
  return shape.shortest == 0 ? shape.n_k : query_tokens(shape);
}

std::size_t model_dim(const Shape& shape) {
  return shape.query_heads * shape.head_dim;
}

double useful_flops(const Shape& shape) {
  double pairs = 0;
  if (shape.shortest == 0) {
    pairs = static_cast<double>(shape.batch) * static_cast<double>(shape.n_q) *
            static_cast<double>(shape.n_k);
  } else {
    for (const std::size_t n : sequence_lengths(shape)) pairs += static_cast<double>(n * n);
  }
  const double d = static_cast<double>(model_dim(shape));
  const double products =
      shape.kind == Kind::layer ? 8.0 * static_cast<double>(shape.batch * shape.n_q) * d * d : 0.0;
  return products + 4.0 * pairs * d * (shape.causal ? 0.5 : 1.0);
}

double kv_bytes(const Shape& shape) {
  if (shape.kind == Kind::layer)
    return static_cast<double>(4 * model_dim(shape) * model_dim(shape) * size_of(shape.kv_dtype));
  const std::size_t batch = shape.shortest == 0 ? shape.batch : 1;
  const std::size_t tensors = shape.kind == Kind::selfish ? 1 : 2;
  return static_cast<double>(tensors * batch * shape.kv_heads * key_tokens(shape) * shape.head_dim *
                             size_of(shape.kv_dtype));
}

bool bound_by_memory(const Shape& shape) {
  return shape.kind == Kind::decode || shape.kind == Kind::selfish;
}

}  // namespace heed::bench
