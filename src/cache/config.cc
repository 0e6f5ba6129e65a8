#include "cache/config.h"

namespace heed::cache {
namespace {

void require_rows(std::string_view name, ConstTensorView tensor, std::size_t batch,
                  const RowShape& shape) {
  require(tensor.dtype == DType::f32 || tensor.dtype == DType::f16 || tensor.dtype == DType::bf16,
          "append: ", name, " has dtype ", name_of(tensor.dtype), ", expected f32, f16 or bf16");
  require(tensor.batch == batch, "append: ", name, " has batch ", tensor.batch, ", expected ",
          batch);
  require(tensor.heads == shape.heads, "append: ", name, " has ", tensor.heads,
          " heads but the cache has ", shape.heads);
  require(tensor.dim == shape.dim, "append: ", name, " has head_dim ", tensor.dim,
          " but the cache has ", shape.dim);
  require_tensor(name, tensor);  // its extent
  require_data(name, tensor);
}

}  // namespace

void require_positive(std::string_view cache, std::string_view field, std::size_t value) {
  require(value > 0, cache, ": ", field, " is 0, expected at least 1");
}

void require_storable(std::string_view cache, DType dtype) {
  require(dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::i8,
          cache, ": dtype is ", name_of(dtype), ", expected f32, f16, bf16 or i8");
}

void require_appendable(ConstTensorView k, ConstTensorView v, std::size_t batch,
                        const RowStorage& keys, const RowStorage& values) {
  require_rows("key", k, batch, keys.shape());
  require_rows("value", v, batch, values.shape());
  require(k.tokens == v.tokens, "append: key has ", k.tokens, " tokens but value has ", v.tokens);
  require_apart("append", {{"cache.keys", keys.memory()}, {"cache.values", values.memory()}},
                {{"key", region(k)}, {"value", region(v)}});
}

}  // namespace heed::cache
