// LayerProjections from the inside: its workspace, and the products on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "heed/layer.h"
#include "layer/turns.h"
#include "layer/weights.h"

namespace heed {

// One float matrix [batch * tokens, heads * dim] of the workspace.
struct HeadMatrix {
  float* data = nullptr;
  std::size_t batch = 0, tokens = 0, heads = 0, dim = 0;
  std::size_t stride = 0;  // from token to token

  TensorView view() const;    // [batch, heads, tokens, dim]
  SequenceView rows() const;  // [batch, tokens, heads * dim]
};

struct LayerProjections::Impl {
  Impl(std::shared_ptr<const MultiHeadAttention::Impl> layer, std::size_t batch,
       std::size_t query_tokens, std::size_t key_tokens, const Execution& execution);

  // Every projection of y and z that is given, in one run; then norm and RoPE. Positions: one per
  // token, of one batch row or of all; not read without RoPE.
  void project(const ConstSequenceView* y, const ConstSequenceView* z,
               std::span<const std::int64_t> query_positions,
               std::span<const std::int64_t> key_positions);
  void output(SequenceView out);

  // The positions as a list that place() takes; throws unless there is one per token.
  std::span<const std::int64_t> listed(const Positions& positions, std::size_t tokens,
                                       std::vector<std::int64_t>& list) const;
  void require_self(ConstSequenceView x) const;
  void require_cross(ConstSequenceView y, ConstSequenceView z) const;
  void require_tokens(std::string_view name, ConstSequenceView view, std::size_t tokens,
                      std::size_t dim, std::string_view dim_name) const;
  std::size_t workspace_bytes() const;

  std::shared_ptr<const MultiHeadAttention::Impl> layer;
  std::size_t batch, query_tokens, key_tokens, threads;
  HeadMatrix q, k, v, heads;
  std::vector<std::int64_t> query_list, key_list;

 private:
  void add_products(const Projection& projection, ConstSequenceView from, SequenceView to);
  void finish(const HeadMatrix& rows, const NormWeight& norm, const TurnTable& turns,
              std::size_t period) const;
  void run_products();

  std::vector<kernels::Product> products_;
  TurnTable query_turns_, key_turns_;
  AlignedBuffer<float> memory_;
  float* scratch_ = nullptr;
};

}  // namespace heed
