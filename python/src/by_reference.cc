#include "by_reference.h"

#include <algorithm>
#include <limits>
#include <span>

namespace heed::python {
namespace {

using Steps = reference::Attention<double>;

reference::Tensor<double> Steps::*stage_of(const std::string& name) {
  if (name == "raw") return &Steps::scaled;
  if (name == "softcap") return &Steps::capped;
  if (name == "bias") return &Steps::biased;
  if (name == "softmax") return &Steps::p;
  throw py::value_error("return_scores is '" + name +
                        "', expected 'raw', 'softcap', 'bias' or 'softmax'");
}

// Element `index` of an array of `dtype` (f32, f64, f16, bf16).
void store(double value, void* data, DType dtype, std::size_t index) {
  switch (dtype) {
    case DType::f64: static_cast<double*>(data)[index] = value; break;
    case DType::f16: static_cast<f16*>(data)[index] = to_f16(static_cast<float>(value)); break;
    case DType::bf16: static_cast<bf16*>(data)[index] = to_bf16(static_cast<float>(value)); break;
    default: static_cast<float*>(data)[index] = static_cast<float>(value); break;
  }
}

// The longest sequence of a ragged batch; of another, its tokens.
std::size_t longest(std::span<const std::int64_t> starts, std::size_t tokens) {
  if (starts.empty()) return tokens;
  std::int64_t most = 0;
  for (std::size_t n = 1; n < starts.size(); ++n) most = std::max(most, starts[n] - starts[n - 1]);
  return static_cast<std::size_t>(most);
}

}  // namespace

void Scores::require_stage(const std::string& stage) {
  stage_of(stage);
}

Scores::Scores(const std::string& stage, DType dtype, std::size_t axes, ConstTensorView q,
               ConstTensorView k, const AttentionOptions& options)
    : stage_(stage_of(stage)),
      hides_(stage == "bias"),
      dtype_(dtype),
      heads_(q.heads),
      queries_(longest(options.cu_seqlens_q, q.tokens)),
      keys_(longest(options.cu_seqlens_k, k.tokens)) {
  const bool ragged = !options.cu_seqlens_q.empty();
  const std::size_t shape[] = {ragged ? options.cu_seqlens_q.size() - 1 : q.batch, heads_, queries_,
                               keys_};
  array_ = new_array(dtype, std::span(shape).last(axes));
  data_ = array_.mutable_data();
  std::fill_n(static_cast<std::byte*>(data_), array_.nbytes(), std::byte{0});
}

void Scores::take(const reference::Block& block) {
  const reference::Tensor<double>& from = block.steps.*stage_;
  for (std::size_t i = 0; i < from.rows; ++i) {
    const std::size_t row = (block.sequence * heads_ + block.head) * queries_ + block.first_row + i;
    for (std::size_t j = 0; j < from.cols; ++j) {
      const bool hidden = hides_ && block.steps.visible.at(0, 0, i, j) == 0;
      store(hidden ? -std::numeric_limits<double>::infinity() : from.at(0, 0, i, j), data_, dtype_,
            row * keys_ + j);
    }
  }
}

void store_rows(const reference::Block& block, const reference::Tensor<double>& rows,
                const TensorView& to) {
  for (std::size_t i = 0; i < rows.rows; ++i) {
    double* row = static_cast<double*>(to.data) +
                  static_cast<std::ptrdiff_t>(block.batch) * to.batch_stride +
                  static_cast<std::ptrdiff_t>(block.head) * to.head_stride +
                  static_cast<std::ptrdiff_t>(block.first_token + i) * to.token_stride;
    std::copy_n(&rows.at(0, 0, i, 0), rows.cols, row);
  }
}

}  // namespace heed::python
