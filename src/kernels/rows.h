// Rows of keys or values, wherever they lie: a dense tensor, pages of a cache, int8 with a scale
// per row. Kernels see one interface, so that no storage needs a kernel of its own; and the order in
// which they accumulate depends on how many rows there are, not on where they lie, so that paged and
// contiguous give the same bits.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/problem.h"
#include "heed/dtype.h"
#include "heed/view.h"

namespace heed::kernels {

// The rows of one head of one sequence; row j belongs to token j.
struct RowSource {
  DType dtype = DType::f32;  // f32, f16, bf16 or i8
  const std::byte* data = nullptr;
  std::ptrdiff_t row_bytes = 0;   // from one row to the next, within a page
  const float* scales = nullptr;  // i8: element = stored * scale of its row
  std::ptrdiff_t scale_stride = 0;
  // Paged: page_rows rows lie together; pages[n] says which page holds rows n * page_rows and on.
  const std::int32_t* pages = nullptr;  // null: all rows lie together
  std::size_t page_rows = 0;
  std::ptrdiff_t page_bytes = 0;   // from one page to the next
  std::ptrdiff_t page_scales = 0;  // likewise, of the scales

  template <class T>
  const T* row(std::size_t j) const {
    assert(dtype == dtype_of<T>);
    return reinterpret_cast<const T*>(address(data, j, page_bytes, row_bytes));
  }
  float scale(std::size_t j) const {
    return scales == nullptr ? 1.0f : *address(scales, j, page_scales, scale_stride);
  }
  // The scales of rows [j, j + count), a run of them.
  void copy_scales(std::size_t j, std::size_t count, float* to) const {
    if (scales == nullptr) return static_cast<void>(std::fill_n(to, count, 1.0f));
    const float* from = address(scales, j, page_scales, scale_stride);
    if (scale_stride == 1) return static_cast<void>(std::copy_n(from, count, to));
    for (std::size_t n = 0; n < count; ++n)
      to[n] = from[static_cast<std::ptrdiff_t>(n) * scale_stride];
  }
  // How many rows from j on, at most `most`, lie row_bytes (and scale_stride) apart.
  std::size_t run(std::size_t j, std::size_t most) const {
    return pages == nullptr ? most : std::min(most, page_rows - j % page_rows);
  }

 private:
  template <class P>
  const P* address(const P* base, std::size_t j, std::ptrdiff_t page, std::ptrdiff_t row) const {
    if (pages == nullptr) return base + static_cast<std::ptrdiff_t>(j) * row;
    return base + static_cast<std::ptrdiff_t>(pages[j / page_rows]) * page +
           static_cast<std::ptrdiff_t>(j % page_rows) * row;
  }
};

// The rows of all heads of all sequences: what a RowSource is cut from. Strides in elements.
struct RowStore {
  DType dtype = DType::f32;
  const void* data = nullptr;
  std::size_t dim = 0;
  // Dense: element c of token t, head g, batch row b at b * batch + g * head + t * token + c.
  // Paged: batch_stride counts pages, and a token's place within its page takes the place of t.
  std::ptrdiff_t batch_stride = 0, head_stride = 0, token_stride = 0;
  const float* scales = nullptr;  // i8 only: one per token and head
  std::ptrdiff_t scale_batch_stride = 0, scale_head_stride = 0, scale_token_stride = 0;
  const std::int32_t* block_table = nullptr;  // [sequences, pages of the longest] or null: dense
  std::size_t table_stride = 0;
  std::size_t page_tokens = 0;

  // The rows of key/value head `head` of sequence number n.
  RowSource of(const Sequence& sequence, std::size_t n, std::size_t head) const;
};

// A dense tensor.
RowStore row_store(ConstTensorView tensor);

// Keys and values share a dtype and a layout of tokens.
struct KeyValues {
  RowStore k, v;
};

}  // namespace heed::kernels
