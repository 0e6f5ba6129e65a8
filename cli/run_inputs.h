// The tensors of heed run, as the operator of options.h wants them.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/files.h"
#include "cli/run.h"
#include "heed/io.h"
#include "heed/options.h"
#include "heed/view.h"

namespace heed::cli {

// How the axes of a file mean batch, heads, tokens and dim.
enum class Axes : std::uint8_t {
  bhnd,  // (B, H, N, d)
  bnhd,  // (B, N, H*d)
  nhd,   // (N, H, d): a ragged batch as flash-attn has it
  nd,    // (N, H*d): one sequence
};

// Everything that a run reads. Views point into `files`, which must outlive them.
struct AttentionInputs {
  ConstTensorView q, k, v;
  AttentionOptions options;
  Axes axes = Axes::bhnd;        // of the query, and so of the output
  DType dtype = DType::f32;      // of the output; f64 is computed by the reference
  std::size_t copied_bytes = 0;  // beyond what the files themselves hold
  // What options point at.
  std::vector<std::int64_t> key_lengths, query_offsets, cu_seqlens_q, cu_seqlens_k;
  std::vector<float> alibi_slopes, sinks;

  AttentionInputs() = default;
  AttentionInputs(const AttentionInputs&) = delete;  // options point into it
  AttentionInputs& operator=(const AttentionInputs&) = delete;
};

// One sequence of the batch, in the terms of the query and key tensors. Lengths that make no sense
// give extents that make none: the operator refuses them.
struct SequenceExtent {
  std::size_t batch = 0, first_query = 0, first_key = 0, queries = 0, keys = 0;
};
std::vector<SequenceExtent> sequence_extents(ConstTensorView q, ConstTensorView k,
                                             const AttentionOptions& options);

// Everything but the tensors: inputs.options, for the shapes of q and k, which are set.
void read_options(const RunOptions& flags, InputFiles& files, AttentionInputs& inputs);

// The tensors and the options.
void read_inputs(const RunOptions& flags, InputFiles& files, AttentionInputs& inputs);

// What --dtype says.
DType parse_dtype(const std::string& name);

// The shape of a tensor with the heads and tokens of the query and `dim` columns, laid out like it.
io::Shape output_shape(const AttentionInputs& inputs, std::size_t dim);

// A writable view onto such an array.
TensorView output_view(const AttentionInputs& inputs, io::Array& out);

// A view's elements as [batch, heads, tokens, dim], contiguous.
io::Array to_bhnd(ConstTensorView view);

}  // namespace heed::cli
