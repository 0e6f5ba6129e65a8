// What the reference computes, in Python's arrays: float64 results, and the scores of any call.
#pragma once

#include <string>

#include "arrays.h"
#include "heed/reference.h"

namespace heed::python {

// The scores after one stage, [sequences, heads, queries, keys], filled block by block. Sequences
// shorter than the longest are padded with 0.
class Scores {
 public:
  // ValueError unless `stage` is one of "raw", "softcap", "bias" and "softmax".
  static void require_stage(const std::string& stage);

  // An array of `dtype`; `axes` of the shape are kept, the last ones. q, k and the options are ones
  // that the operator has accepted.
  Scores(const std::string& stage, DType dtype, std::size_t axes, ConstTensorView q,
         ConstTensorView k, const AttentionOptions& options);

  void take(const reference::Block& block);  // without the GIL
  const py::array& array() const { return array_; }

 private:
  reference::Tensor<double> reference::Attention<double>::*stage_;
  bool hides_;  // in this stage a hidden score is -infinity
  DType dtype_;
  std::size_t heads_, queries_, keys_;
  py::array array_;
  void* data_;
};

// The rows of a block in their place in an array of doubles.
void store_rows(const reference::Block& block, const reference::Tensor<double>& rows,
                const TensorView& to);

}  // namespace heed::python
