#include "layer/projections.h"

#include <algorithm>
#include <utility>

#include "base/checks.h"
#include "base/problem.h"
#include "base/threads.h"

namespace heed {
namespace {

std::ptrdiff_t to_signed(std::size_t n) {
  return static_cast<std::ptrdiff_t>(n);
}

// Two cache lines more than the row: rows a power of two apart would share a few sets of the cache
// (attention on 512 tokens of 8 heads of 64 loses a tenth).
std::size_t padded_stride(std::size_t row) {
  constexpr std::size_t kPad = kAlignment / sizeof(float);
  return (row + kPad - 1) / kPad * kPad + kPad;
}

// Whether token t of batch row b lies row_stride * (b * tokens + t) elements from the first.
bool lies_evenly(ConstSequenceView view) {
  return view.batch <= 1 || view.tokens <= 1 ||
         view.batch_stride == to_signed(view.tokens) * view.token_stride;
}
std::ptrdiff_t row_stride(ConstSequenceView view) {
  return view.tokens <= 1 ? view.batch_stride : view.token_stride;
}
std::ptrdiff_t batch_offset(ConstSequenceView view, std::size_t b) {
  return to_signed(b) * view.batch_stride * to_signed(size_of(view.dtype));
}

// Hands out parts of one allocation, each cache-line aligned; first counted, then placed.
class Arena {
 public:
  std::size_t take(std::initializer_list<std::size_t> sizes) {
    const std::size_t size = checked_product("layer: workspace", sizes);
    const std::size_t begin = used_;
    constexpr std::size_t kStep = kAlignment / sizeof(float);
    used_ = checked_product("layer: workspace", {begin / kStep + size / kStep + 1, kStep});
    return begin;
  }
  std::size_t used() const { return used_; }

 private:
  std::size_t used_ = 0;
};

}  // namespace

TensorView HeadMatrix::view() const {
  const auto row = to_signed(stride);
  return {data,           DType::f32, batch, heads, tokens, dim, to_signed(tokens) * row,
          to_signed(dim), row};
}

SequenceView HeadMatrix::rows() const {
  const auto row = to_signed(stride);
  return {data, DType::f32, batch, tokens, heads * dim, to_signed(tokens) * row, row};
}

LayerProjections::Impl::Impl(std::shared_ptr<const MultiHeadAttention::Impl> layer_,
                             std::size_t batch_, std::size_t query_tokens_, std::size_t key_tokens_,
                             const Execution& execution)
    : layer(std::move(layer_)),
      batch(batch_),
      query_tokens(query_tokens_),
      key_tokens(key_tokens_),
      threads(thread_count(execution.threads)) {
  const auto matrix = [&](std::size_t tokens, std::size_t head_count, std::size_t dim) {
    return HeadMatrix{nullptr, batch, tokens, head_count, dim, padded_stride(head_count * dim)};
  };
  q = matrix(query_tokens, layer->query_heads, layer->key_dim);
  k = matrix(key_tokens, layer->kv_heads, layer->key_dim);
  v = matrix(key_tokens, layer->kv_heads, layer->value_dim);
  heads = matrix(query_tokens, layer->query_heads, layer->value_dim);

  Arena arena;
  const auto place = [&](HeadMatrix& m) { return arena.take({batch, m.tokens, m.stride}); };
  const std::size_t at_q = place(q), at_k = place(k), at_v = place(v), at_heads = place(heads);
  const std::size_t at_scratch = arena.take({threads, kernels::kProductScratch});
  memory_ = AlignedBuffer<float>(arena.used());
  q.data = memory_.data() + at_q;
  k.data = memory_.data() + at_k;
  v.data = memory_.data() + at_v;
  heads.data = memory_.data() + at_heads;
  scratch_ = memory_.data() + at_scratch;

  products_.reserve(std::max<std::size_t>(3, 3 * batch));
  if (layer->turning != 0) {
    query_turns_ = TurnTable(batch * query_tokens, layer->frequencies);
    key_turns_ = TurnTable(batch * key_tokens, layer->frequencies);
    query_list.reserve(batch * query_tokens);
    key_list.reserve(batch * key_tokens);
  }
}

std::size_t LayerProjections::Impl::workspace_bytes() const {
  return memory_.size() * sizeof(float) + query_turns_.bytes() + key_turns_.bytes() +
         (query_list.capacity() + key_list.capacity()) * sizeof(std::int64_t) +
         products_.capacity() * sizeof(kernels::Product);
}

void LayerProjections::Impl::require_tokens(std::string_view name, ConstSequenceView view,
                                            std::size_t tokens, std::size_t dim,
                                            std::string_view dim_name) const {
  require_dtype(name, view.dtype, {DType::f32, DType::f16, DType::bf16});
  require(view.batch == batch, "layer: ", name, " has batch ", view.batch, " but ", batch,
          " is planned");
  require(view.tokens == tokens, "layer: ", name, " has ", view.tokens, " tokens but ", tokens,
          " are planned");
  require(view.dim == dim, "layer: ", name, " has ", view.dim, " numbers per token but ", dim_name,
          " is ", dim);
  require(view.data != nullptr || batch * tokens == 0, "layer: ", name, " has no data for its [",
          batch, ", ", tokens, ", ", dim, "] elements");
}

void LayerProjections::Impl::require_self(ConstSequenceView x) const {
  require(layer->d_context == layer->d_model,
          "layer: self-attention needs d_context to be d_model ", layer->d_model, ", not ",
          layer->d_context);
  require(key_tokens == query_tokens, "layer: self-attention has as many keys as queries but ",
          query_tokens, " queries and ", key_tokens, " keys are planned");
  require_tokens("x", x, query_tokens, layer->d_model, "d_model");
}

void LayerProjections::Impl::require_cross(ConstSequenceView y, ConstSequenceView z) const {
  require_tokens("y", y, query_tokens, layer->d_model, "d_model");
  require_tokens("z", z, key_tokens, layer->d_context, "d_context");
}

std::span<const std::int64_t> LayerProjections::Impl::listed(
    const Positions& positions, std::size_t tokens, std::vector<std::int64_t>& list) const {
  if (layer->turning == 0) return {};
  if (positions.each.empty()) {
    list.resize(tokens);
    for (std::size_t i = 0; i < tokens; ++i)  // unsigned, so that no position overflows
      list[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(positions.first) + i);
    return list;
  }
  require(positions.each.size() == tokens || positions.each.size() == batch * tokens,
          "layer: ", positions.each.size(), " positions are given but there are ", tokens,
          " tokens in each of ", batch, " sequences");
  return positions.each;
}

// One product if the tokens of the batch lie equally far apart, else one for each batch row.
void LayerProjections::Impl::add_products(const Projection& projection, ConstSequenceView from,
                                          SequenceView to) {
  const bool together = lies_evenly(from) && lies_evenly(to);
  kernels::Product p;
  p.a_dtype = from.dtype;
  p.a_stride = row_stride(from);
  p.rows = together ? batch * from.tokens : from.tokens;
  p.w = projection.weight;
  p.bias = projection.bias.data();
  p.c_dtype = to.dtype;
  p.c_stride = row_stride(to);
  for (std::size_t b = 0; b < (together ? 1 : batch); ++b) {
    p.a = static_cast<const std::byte*>(from.data) + batch_offset(from, b);
    p.c = static_cast<std::byte*>(to.data) + batch_offset(to, b);
    products_.push_back(p);
  }
}

void LayerProjections::Impl::run_products() {
  kernels::multiply(layer->target, products_, threads, scratch_);
  products_.clear();
}

void LayerProjections::Impl::finish(const HeadMatrix& m, const NormWeight& norm,
                                    const TurnTable& turns, std::size_t period) const {
  if (norm.weight.size() == 0 && layer->turning == 0) return;
  kernels::finish_rows(
      layer->target, {m.data, batch * m.tokens, m.heads, m.dim, to_signed(m.stride)},
      norm.row_norm(), {turns.data(), period, layer->turning, layer->pairs}, threads);
}

void LayerProjections::Impl::project(const ConstSequenceView* y, const ConstSequenceView* z,
                                     std::span<const std::int64_t> query_positions,
                                     std::span<const std::int64_t> key_positions) {
  if (y != nullptr) add_products(layer->query, *y, q.rows());
  if (z != nullptr) {
    add_products(layer->key, *z, k.rows());
    add_products(layer->value, *z, v.rows());
  }
  run_products();
  if (y != nullptr) {
    query_turns_.place(query_positions, threads);
    finish(q, layer->query_norm, query_turns_, query_positions.size());
  }
  if (z != nullptr) {
    const bool same = y != nullptr && std::ranges::equal(query_positions, key_positions);
    if (!same) key_turns_.place(key_positions, threads);
    finish(k, layer->key_norm, same ? query_turns_ : key_turns_, key_positions.size());
  }
}

void LayerProjections::Impl::output(SequenceView out) {
  require_tokens("out", out, query_tokens, layer->d_model, "d_model");
  add_products(layer->output, heads.rows(), out);
  run_products();
}

// --- The public class --------------------------------------------------------------------------

LayerProjections::LayerProjections(const MultiHeadAttention& layer, std::size_t batch,
                                   std::size_t query_tokens, std::size_t key_tokens,
                                   const Execution& execution)
    : impl_(std::make_unique<Impl>(layer.impl_, batch, query_tokens, key_tokens, execution)) {}
LayerProjections::~LayerProjections() = default;
LayerProjections::LayerProjections(LayerProjections&&) noexcept = default;
LayerProjections& LayerProjections::operator=(LayerProjections&&) noexcept = default;

LayerProjections::Heads LayerProjections::project(ConstSequenceView x, const Positions& positions) {
  Impl& s = *impl_;
  s.require_self(x);
  const auto places = s.listed(positions, s.query_tokens, s.query_list);
  s.project(&x, &x, places, places);
  return {s.q.view(), s.k.view(), s.v.view()};
}

LayerProjections::Heads LayerProjections::project(ConstSequenceView y, ConstSequenceView z,
                                                  const Positions& query_positions,
                                                  const Positions& key_positions) {
  Impl& s = *impl_;
  s.require_cross(y, z);
  const auto queries = s.listed(query_positions, s.query_tokens, s.query_list);
  const auto keys = s.listed(key_positions, s.key_tokens, s.key_list);
  s.project(&y, &z, queries, keys);
  return {s.q.view(), s.k.view(), s.v.view()};
}

ConstTensorView LayerProjections::project_queries(ConstSequenceView y, const Positions& positions) {
  Impl& s = *impl_;
  s.require_tokens("y", y, s.query_tokens, s.layer->d_model, "d_model");
  s.project(&y, nullptr, s.listed(positions, s.query_tokens, s.query_list), {});
  return s.q.view();
}

LayerProjections::KeysValues LayerProjections::project_context(ConstSequenceView z,
                                                               const Positions& positions) {
  Impl& s = *impl_;
  s.require_tokens("z", z, s.key_tokens, s.layer->d_context, "d_context");
  s.project(nullptr, &z, {}, s.listed(positions, s.key_tokens, s.key_list));
  return {s.k.view(), s.v.view()};
}

TensorView LayerProjections::heads() {
  return impl_->heads.view();
}

void LayerProjections::output(SequenceView out) {
  impl_->output(out);
}

std::size_t LayerProjections::workspace_bytes() const {
  return impl_->workspace_bytes();
}

}  // namespace heed
