// Oracle: the true answer of a problem on sampled rows, and how far from it an answer may be.
//
// A row is computed on its own, as a problem with one query, so that checking costs a small part of
// what it checks: by the reference in double (the truth) and in plain float (the yardstick; over
// int8, where queries and weights are rounded to 16 bits, with these in f16).
#pragma once

#include <cstddef>
#include <vector>

#include "bench/harness/inputs.h"

namespace heed::bench {

struct Accuracy {
  double error = 0;        // largest |answer - truth|; infinite where the answer is not a number
  double plain_error = 0;  // largest |plain float - truth|
  double vs_plain() const { return error == plain_error ? 1.0 : error / plain_error; }
};

class Oracle {
 public:
  explicit Oracle(const Problem& problem);

  Accuracy check(ConstTensorView answer) const;  // f32, laid out as output_view

 private:
  struct Row {
    std::size_t batch, head, token;  // in the tensors
    std::vector<double> truth;       // [d_v]; of a layer, all heads: [d_model]
  };
  void add_rows(const Problem& problem);
  void add_layer_rows(const Problem& problem);
  std::vector<Row> rows_;
  double plain_error_ = 0;
};

}  // namespace heed::bench
