// KVCache: sequences of one length, each in memory of its own that grows.
#include <algorithm>
#include <utility>

#include "cache/config.h"
#include "cache/row_storage.h"
#include "heed/kv_cache.h"

namespace heed {

using cache::RowShape;
using cache::RowStorage;

namespace {

const KVCacheConfig& checked(const KVCacheConfig& config) {
  constexpr std::string_view kName = "KVCache";
  cache::require_positive(kName, "batch", config.batch);
  cache::require_positive(kName, "kv_heads", config.kv_heads);
  cache::require_positive(kName, "key_dim", config.key_dim);
  cache::require_positive(kName, "value_dim", config.value_dim.value_or(config.key_dim));
  cache::require_storable(kName, config.dtype);
  return config;
}

RowStorage rows_of(const KVCacheConfig& config, std::string_view name, std::size_t dim) {
  return {name, {config.batch, config.kv_heads, config.capacity, dim, config.dtype}};
}

}  // namespace

struct KVCache::Impl {
  explicit Impl(const KVCacheConfig& config)
      : keys(rows_of(checked(config), "KVCache: keys", config.key_dim)),
        values(rows_of(config, "KVCache: values", config.value_dim.value_or(config.key_dim))) {}

  RowStorage keys, values;
  std::size_t length = 0;

  RowStorage with_room(const RowStorage& old, std::string_view name, std::size_t tokens) const {
    RowShape shape = old.shape();
    shape.tokens = tokens;
    RowStorage grown(name, shape);
    for (std::size_t b = 0; b < shape.blocks; ++b) grown.copy(b, old, b, length);
    return grown;
  }

  void reserve(std::size_t tokens) {
    if (tokens <= keys.shape().tokens) return;
    RowStorage more_keys = with_room(keys, "KVCache: keys", tokens);
    values = with_room(values, "KVCache: values", tokens);
    keys = std::move(more_keys);
  }
};

KVCache::KVCache(const KVCacheConfig& config) : impl_(std::make_unique<Impl>(config)) {}
KVCache::~KVCache() = default;
KVCache::KVCache(KVCache&&) noexcept = default;
KVCache& KVCache::operator=(KVCache&&) noexcept = default;

std::size_t KVCache::length() const {
  return impl_->length;
}
std::size_t KVCache::capacity() const {
  return impl_->keys.shape().tokens;
}
std::size_t KVCache::batch() const {
  return impl_->keys.shape().blocks;
}
std::size_t KVCache::kv_heads() const {
  return impl_->keys.shape().heads;
}
std::size_t KVCache::key_dim() const {
  return impl_->keys.shape().dim;
}
std::size_t KVCache::value_dim() const {
  return impl_->values.shape().dim;
}
DType KVCache::dtype() const {
  return impl_->keys.shape().dtype;
}
std::size_t KVCache::bytes() const {
  return impl_->keys.bytes() + impl_->values.bytes();
}

void KVCache::reserve(std::size_t tokens) {
  impl_->reserve(tokens);
}

void KVCache::append(ConstTensorView k, ConstTensorView v) {
  cache::require_appendable(k, v, batch(), impl_->keys, impl_->values);
  const std::size_t begin = length(), end = begin + k.tokens;
  if (end > capacity()) impl_->reserve(std::max(end, 2 * capacity()));
  for (std::size_t b = 0; b < batch(); ++b) {
    impl_->keys.write({b, begin}, k, b, 0, k.tokens);
    impl_->values.write({b, begin}, v, b, 0, v.tokens);
  }
  impl_->length = end;
}

void KVCache::truncate(std::size_t length) {
  require(length <= impl_->length, "truncate: length is ", length, " but the cache has ",
          impl_->length, " tokens");
  impl_->length = length;
}

ConstTensorView KVCache::keys() const {
  return impl_->keys.view(impl_->length);
}
ConstTensorView KVCache::values() const {
  return impl_->values.view(impl_->length);
}
ScaleView KVCache::key_scales() const {
  return impl_->keys.scales();
}
ScaleView KVCache::value_scales() const {
  return impl_->values.scales();
}

}  // namespace heed
