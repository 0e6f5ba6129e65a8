// The public layer: a shared, immutable Impl; every run is a plan that is used once.
#include "heed/layer.h"

#include <memory>

#include "layer/weights.h"

namespace heed {

MultiHeadAttention::MultiHeadAttention(const MultiHeadConfig& config,
                                       const MultiHeadWeights& weights, WeightStorage storage)
    : impl_(std::make_shared<const Impl>(config, weights, storage)) {}

std::size_t MultiHeadAttention::d_model() const {
  return impl_->d_model;
}
std::size_t MultiHeadAttention::d_context() const {
  return impl_->d_context;
}
std::size_t MultiHeadAttention::query_heads() const {
  return impl_->query_heads;
}
std::size_t MultiHeadAttention::kv_heads() const {
  return impl_->kv_heads;
}
std::size_t MultiHeadAttention::key_dim() const {
  return impl_->key_dim;
}
std::size_t MultiHeadAttention::value_dim() const {
  return impl_->value_dim;
}

std::size_t MultiHeadAttention::parameter_count() const {
  return impl_->parameters;
}

std::size_t MultiHeadAttention::weight_bytes() const {
  return impl_->query.bytes() + impl_->key.bytes() + impl_->value.bytes() + impl_->output.bytes() +
         (impl_->query_norm.weight.size() + impl_->key_norm.weight.size()) * sizeof(float) +
         impl_->frequencies.size() * sizeof(double);
}

void MultiHeadAttention::self_attention(ConstSequenceView x, SequenceView out,
                                        const LayerOptions& options,
                                        const Execution& execution) const {
  LayerPlan(*this, x.batch, x.tokens, x.tokens, options, execution).self_attention(x, out, options);
}

void MultiHeadAttention::cross_attention(ConstSequenceView y, ConstSequenceView z, SequenceView out,
                                         const LayerOptions& options,
                                         const Execution& execution) const {
  LayerPlan(*this, y.batch, y.tokens, z.tokens, options, execution)
      .cross_attention(y, z, out, options);
}

}  // namespace heed
