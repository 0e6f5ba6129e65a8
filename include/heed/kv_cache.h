// Caches: keys and values of the tokens so far, kept from one step of generation to the next, and
// attention that reads them where they are.
//
//   heed::KVCache cache({.batch = 1, .kv_heads = 8, .key_dim = 128, .dtype = heed::DType::bf16});
//   cache.append(k, v);                                       // of the new tokens
//   heed::attention(q, cache, out, {.causal = heed::Causal::lower_right});
//
//   KVCache        sequences of one length, each in memory of its own that grows
//   PagedKVCache   sequences that come, grow, fork and go, in pages of one pool: a common prefix is
//                  stored once, and cascade_attention() also reads it once
//
// Both give the same bits, which for f32, f16 and bf16 are those of attention() on plain tensors.
// Keys are stored as they come: with RoPE, turn them before, as LayerProjections (layer.h) does.
//
// Element types. What is appended may be f32, f16 or bf16 and is converted to the cache's dtype:
//   f32, f16, bf16   rounded to nearest, as in dtype.h
//   i8               one scale per token and head, the largest magnitude of that row / 127; an
//                    element errs by at most half the scale. Attention reads the bytes and
//                    multiplies scores and weights by the scales. Decode multiplies integers: it
//                    rounds queries and weights to 16 bits, which adds a small part of the error
//                    of the stored rows (docs/library.md tells how large both are). A row that
//                    holds NaN or infinity is NaN as a whole.
//
// Lifetime: a cache owns its memory. Views of it, and a block table, are valid until the next call
// that changes the cache; moving a cache keeps them.
// Thread safety: any number of threads may read a cache (attention, views) while none changes it.
// Errors: heed::Error naming both values, and CacheFull; the cache is then as it was before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "heed/attention.h"
#include "heed/dtype.h"
#include "heed/error.h"
#include "heed/options.h"
#include "heed/view.h"

namespace heed {

// The scales of an i8 cache, one float per row; element = stored * scale. Strides in elements.
struct ScaleView {
  const float* data = nullptr;
  std::ptrdiff_t batch_stride = 0, head_stride = 0, token_stride = 1;

  explicit operator bool() const { return data != nullptr; }
};

// --- Sequences of one length --------------------------------------------------------------------

struct KVCacheConfig {
  std::size_t batch = 1;
  std::size_t kv_heads = 0;
  std::size_t key_dim = 0;                    // d_k
  std::optional<std::size_t> value_dim = {};  // d_v; default key_dim
  DType dtype = DType::f32;                   // f32, f16, bf16 or i8
  std::size_t capacity = 0;                   // tokens to make room for at once
};

class KVCache {
 public:
  explicit KVCache(const KVCacheConfig& config);
  ~KVCache();
  KVCache(KVCache&&) noexcept;
  KVCache& operator=(KVCache&&) noexcept;

  std::size_t length() const;    // tokens of each sequence
  std::size_t capacity() const;  // tokens that fit before the memory grows
  std::size_t batch() const;
  std::size_t kv_heads() const;
  std::size_t key_dim() const;
  std::size_t value_dim() const;
  DType dtype() const;
  std::size_t bytes() const;  // of memory held

  // Makes room for so many tokens in all. Appending grows by itself, to twice the room or more.
  void reserve(std::size_t tokens);

  // The next n tokens of every sequence: k [batch, kv_heads, n, key_dim], v [.., value_dim]; n may
  // be 0. Views of this cache are refused.
  void append(ConstTensorView k, ConstTensorView v);

  // Forgets all tokens but the first `length`, for example rejected ones. Keeps the memory.
  void truncate(std::size_t length);

  // [batch, kv_heads, length, dim] in the cache's dtype.
  ConstTensorView keys() const;
  ConstTensorView values() const;
  // Of the rows of an i8 cache; empty otherwise.
  ScaleView key_scales() const;
  ScaleView value_scales() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// q [batch, query_heads, n_q, key_dim] over all that is cached; out and lse as in attention.h.
// Every option but a ragged batch.
void attention(ConstTensorView q, const KVCache& cache, TensorView out, RowView lse,
               const AttentionOptions& options = {}, const Execution& execution = {});
void attention(ConstTensorView q, const KVCache& cache, TensorView out,
               const AttentionOptions& options = {}, const Execution& execution = {});

// What attention() over the cache would run, as a Plan of plain tensors tells it.
PlanInfo plan_info(ConstTensorView q, const KVCache& cache, const AttentionOptions& options = {},
                   const Execution& execution = {});

// --- Sequences in pages -------------------------------------------------------------------------

struct PagedKVCacheConfig {
  std::size_t kv_heads = 0;
  std::size_t key_dim = 0;                    // d_k
  std::optional<std::size_t> value_dim = {};  // d_v; default key_dim
  DType dtype = DType::f32;                   // f32, f16, bf16 or i8
  std::size_t pages = 0;                      // of the pool, all there will ever be; < 2^31
  std::size_t page_size = 16;                 // tokens of one page
};

// Thrown when the pool has too few free pages. Remove or truncate a sequence and try again.
class CacheFull : public Error {
 public:
  using Error::Error;
};

// Names a sequence of one PagedKVCache; never used again after the sequence is removed.
using SequenceId = std::int64_t;

class PagedKVCache {
 public:
  explicit PagedKVCache(const PagedKVCacheConfig& config);
  ~PagedKVCache();
  PagedKVCache(PagedKVCache&&) noexcept;
  PagedKVCache& operator=(PagedKVCache&&) noexcept;

  std::size_t pages() const;
  std::size_t free_pages() const;
  std::size_t page_size() const;
  std::size_t sequences() const;  // how many there are
  std::size_t kv_heads() const;
  std::size_t key_dim() const;
  std::size_t value_dim() const;
  DType dtype() const;
  std::size_t bytes() const;  // of memory held

  // A new, empty sequence.
  SequenceId add();

  // A new sequence that begins as this one (its first `length` tokens; default all), sharing its
  // pages until one of the two writes into the last of them: then that page is copied.
  SequenceId fork(SequenceId sequence, std::optional<std::size_t> length = {});

  // Forgets a sequence; pages that no other one holds are free again.
  void remove(SequenceId sequence);

  // Forgets all tokens of a sequence but the first `length`.
  void truncate(SequenceId sequence, std::size_t length);

  std::size_t length(SequenceId sequence) const;

  // The next n tokens of one sequence or of several different ones: k [sequences, kv_heads, n,
  // key_dim], v [.., value_dim]; views of this cache are refused. CacheFull, with nothing
  // written, if not all of them fit.
  void append(SequenceId sequence, ConstTensorView k, ConstTensorView v);
  void append(std::span<const SequenceId> sequences, ConstTensorView k, ConstTensorView v);

  // How many leading tokens lie in pages that all of the sequences hold.
  std::size_t shared_prefix(std::span<const SequenceId> sequences) const;

  // Tokens [n * page_size, (n + 1) * page_size) of the sequence lie in page block_table()[n].
  std::span<const std::int32_t> block_table(SequenceId sequence) const;
  // [pages, kv_heads, page_size, dim]; what lies past the end of a sequence is unspecified.
  ConstTensorView key_pages() const;
  ConstTensorView value_pages() const;
  // Of the rows of an i8 cache; empty otherwise.
  ScaleView key_scales() const;
  ScaleView value_scales() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// q [sequences, query_heads, n_q, key_dim] over the tokens of each sequence, which may be of any
// lengths; out and lse as in attention.h. Every option; the keys of masks and biases are those of
// the longest sequence, and key_lengths may be shorter than the sequences. Queries may be ragged:
// cu_seqlens_q alone, q as described there.
void attention(ConstTensorView q, const PagedKVCache& cache, std::span<const SequenceId> sequences,
               TensorView out, RowView lse, const AttentionOptions& options = {},
               const Execution& execution = {});
void attention(ConstTensorView q, const PagedKVCache& cache, std::span<const SequenceId> sequences,
               TensorView out, const AttentionOptions& options = {},
               const Execution& execution = {});

// What attention() over these sequences would run.
PlanInfo plan_info(ConstTensorView q, const PagedKVCache& cache,
                   std::span<const SequenceId> sequences, const AttentionOptions& options = {},
                   const Execution& execution = {});

// attention() for sequences that begin alike (forks of one prompt): the keys and values of the
// pages they share are read once for all of them, the rest once for each, and the two are merged
// (state.h). Equal to attention() up to rounding; unlike there, a result's last bits depend on
// which sequences are in the batch. Pays off with few queries each, as in decoding. Every option
// but ragged queries; a score_mod sees the coordinates that it would see there. (Of visible scores
// that are all -infinity by arithmetic in the shared part or in the rest, the row is NaN.)
void cascade_attention(ConstTensorView q, const PagedKVCache& cache,
                       std::span<const SequenceId> sequences, TensorView out, RowView lse,
                       const AttentionOptions& options = {}, const Execution& execution = {});
void cascade_attention(ConstTensorView q, const PagedKVCache& cache,
                       std::span<const SequenceId> sequences, TensorView out,
                       const AttentionOptions& options = {}, const Execution& execution = {});

}  // namespace heed
