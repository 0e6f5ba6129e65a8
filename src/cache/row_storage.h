// The memory of a cache: rows of keys, or of values, [blocks, heads, tokens, dim] in one dtype. A
// block is a sequence of a contiguous cache or a page of a paged one.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/buffer.h"
#include "base/overlap.h"
#include "heed/dtype.h"
#include "heed/kv_cache.h"
#include "heed/view.h"

namespace heed::cache {

struct RowShape {
  std::size_t blocks = 0, heads = 0, tokens = 0, dim = 0;
  DType dtype = DType::f32;  // f32, f16, bf16 or i8
};

class RowStorage {
 public:
  // Uninitialised rows; `name` is what errors call them. Throws heed::Error, before anything is
  // allocated, if the sizes do not fit in memory.
  RowStorage(std::string_view name, const RowShape& shape);

  const RowShape& shape() const { return shape_; }
  std::size_t bytes() const { return rows_.size() + scales_.size() * sizeof(float); }
  Region memory() const { return region(view(shape_.tokens)); }

  // Tokens [token, token + count) of a block <- tokens [first, first + count) of batch row `batch`
  // of `from`, which has the same heads and dim and is f32, f16 or bf16.
  struct Place {
    std::size_t block = 0, token = 0;
  };
  void write(Place to, ConstTensorView from, std::size_t batch, std::size_t first,
             std::size_t count);

  // The first `tokens` tokens of a block of `from`, which has the same heads, dim and dtype.
  void copy(std::size_t block, const RowStorage& from, std::size_t from_block, std::size_t tokens);

  // The first `tokens` tokens of every block.
  ConstTensorView view(std::size_t tokens) const;
  ScaleView scales() const;

 private:
  // Of the row of a token, counted in rows.
  std::size_t row(std::size_t block, std::size_t head, std::size_t token) const {
    return (block * shape_.heads + head) * shape_.tokens + token;
  }
  std::size_t row_bytes() const { return shape_.dim * size_of(shape_.dtype); }

  RowShape shape_;
  AlignedBuffer<std::byte> rows_;
  AlignedBuffer<float> scales_;  // i8: one per row
};

}  // namespace heed::cache
