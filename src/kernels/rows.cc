#include "kernels/rows.h"

namespace heed::kernels {

RowSource RowStore::of(const Sequence& sequence, std::size_t n, std::size_t head) const {
  const auto bytes = static_cast<std::ptrdiff_t>(size_of(dtype));
  const auto g = static_cast<std::ptrdiff_t>(head);
  const bool paged = block_table != nullptr;
  const auto b = paged ? 0 : static_cast<std::ptrdiff_t>(sequence.batch);
  const auto t = paged ? 0 : static_cast<std::ptrdiff_t>(sequence.first_key);
  RowSource source;
  source.dtype = dtype;
  source.data = static_cast<const std::byte*>(data) +
                (b * batch_stride + g * head_stride + t * token_stride) * bytes;
  source.row_bytes = token_stride * bytes;
  if (scales != nullptr) {
    source.scales =
        scales + b * scale_batch_stride + g * scale_head_stride + t * scale_token_stride;
    source.scale_stride = scale_token_stride;
  }
  if (paged) {
    source.pages = block_table + n * table_stride;
    source.page_rows = page_tokens;
    source.page_bytes = batch_stride * bytes;
    source.page_scales = scale_batch_stride;
  }
  return source;
}

RowStore row_store(ConstTensorView tensor) {
  RowStore store;
  store.dtype = tensor.dtype;
  store.data = tensor.data;
  store.dim = tensor.dim;
  store.batch_stride = tensor.batch_stride;
  store.head_stride = tensor.head_stride;
  store.token_stride = tensor.token_stride;
  return store;
}

}  // namespace heed::kernels
