#include "cli/run_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "heed/attention.h"
#include "heed/reference.h"

namespace heed::cli {
namespace {

using Stage = reference::Tensor<double> reference::Attention<double>::*;

Stage stage_of(const std::string& name) {
  if (name == "raw") return &reference::Attention<double>::scaled;
  if (name == "softcap") return &reference::Attention<double>::capped;
  if (name == "bias") return &reference::Attention<double>::biased;
  return &reference::Attention<double>::p;
}

// The score matrix [sequences, heads, queries, keys] on its way to a file, block by block.
// Sequences shorter than the longest are padded with 0.
class ScoresWriter {
 public:
  ScoresWriter(const RunOptions& flags, const AttentionInputs& inputs, OutputFiles& outputs)
      : stage_(stage_of(flags.scores_stage)),
        hides_(flags.scores_stage == "bias"),
        dtype_(inputs.dtype),
        outputs_(outputs),
        extents_(sequence_extents(inputs.q, inputs.k, inputs.options)) {
    for (const SequenceExtent& extent : extents_) {
      most_queries_ = std::max(most_queries_, extent.queries);
      most_keys_ = std::max(most_keys_, extent.keys);
    }
    output_ = outputs.add(flags.scores, dtype_,
                          {extents_.size(), inputs.q.heads, most_queries_, most_keys_});
  }

  void append(const reference::Block& block) {
    const auto& scores = block.steps.*stage_;
    io::Array rows(DType::f64, {scores.rows, most_keys_});
    for (std::size_t i = 0; i < scores.rows; ++i)
      for (std::size_t j = 0; j < scores.cols; ++j) {
        const bool hidden = hides_ && block.steps.visible.at(0, 0, i, j) == 0;
        rows.as<double>()[i * most_keys_ + j] =
            hidden ? -std::numeric_limits<double>::infinity() : scores.at(0, 0, i, j);
      }
    outputs_.append(output_, io::convert(rows, dtype_).bytes);
    if (block.first_row + scores.rows == extents_[block.sequence].queries)
      pad(most_queries_ - extents_[block.sequence].queries);
  }

  // Sequences without queries have no blocks.
  void pad_empty(const SequenceExtent& extent, std::size_t heads) {
    if (extent.queries == 0) pad(most_queries_ * heads);
  }

 private:
  void pad(std::size_t rows) {
    const std::vector<std::byte> row(most_keys_ * size_of(dtype_));
    for (std::size_t i = 0; i < rows; ++i) outputs_.append(output_, row);
  }

  Stage stage_;
  bool hides_;  // in this stage a hidden score is -infinity
  DType dtype_;
  OutputFiles& outputs_;
  std::vector<SequenceExtent> extents_;
  std::size_t most_queries_ = 0, most_keys_ = 0;
  std::size_t output_ = 0;
};

// Output and logsumexp of a block, where they belong.
void store(const reference::Block& block, TensorView out, std::span<double> lse) {
  const auto& o = block.steps.o;
  for (std::size_t i = 0; i < o.rows; ++i) {
    const std::size_t token = block.first_token + i;
    const auto offset = static_cast<std::ptrdiff_t>(block.batch) * out.batch_stride +
                        static_cast<std::ptrdiff_t>(block.head) * out.head_stride +
                        static_cast<std::ptrdiff_t>(token) * out.token_stride;
    for (std::size_t c = 0; c < o.cols; ++c)
      static_cast<double*>(out.data)[offset + static_cast<std::ptrdiff_t>(c)] = o.at(0, 0, i, c);
    lse[(block.batch * out.heads + block.head) * out.tokens + token] =
        block.steps.lse.at(0, 0, i, 0);
  }
}

class AttentionRun {
 public:
  AttentionRun(const RunOptions& flags, const AttentionInputs& inputs)
      : flags_(flags), inputs_(inputs), wide_(inputs.dtype == DType::f64) {}

  void run() {
    require_something_wanted();
    const PlannedViews views = planned_views(inputs_);
    std::optional<Plan> plan;
    ProgressBar bar("heed run");
    plan.emplace(views.q, views.k, views.v, inputs_.options,
                 Execution{flags_.threads, bar.callback()});
    begin_outputs();
    const bool computes = out_file_ || lse_file_;
    if (computes && wide_) {
      std::fputs("heed: f64 is computed by the reference, slowly; --dtype f32 runs the kernels\n",
                 stderr);
    } else if (computes) {
      const auto& q = inputs_.q;
      const RowView rows_of_lse =
          flags_.lse.empty() ? RowView{} : rows(lse_.as<float>().data(), q.heads, q.tokens);
      plan->run(inputs_.q, inputs_.k, inputs_.v, output_view(inputs_, out_), rows_of_lse,
                inputs_.options);
    }
    plan.reset();
    if (scores_ || (computes && wide_)) run_reference();
    finish_outputs();
  }

 private:
  void require_something_wanted() const {
    if (flags_.output.empty() && flags_.scores.empty() && flags_.lse.empty() &&
        flags_.present_key.empty() && flags_.present_value.empty())
      throw Error("run: nothing to write; give -o FILE, or --plan to see what would run");
  }

  void begin_outputs() {
    const io::Shape shape = output_shape(inputs_, inputs_.v.dim);
    if (!flags_.output.empty()) out_file_ = outputs_.add(flags_.output, inputs_.dtype, shape);
    const auto& q = inputs_.q;
    const DType lse_dtype = wide_ ? DType::f64 : DType::f32;
    const io::Shape lse_shape{q.batch, q.heads, q.tokens};
    if (!flags_.lse.empty()) lse_file_ = outputs_.add(flags_.lse, lse_dtype, lse_shape);
    for (const bool key : {true, false}) {
      const std::string& name = key ? flags_.present_key : flags_.present_value;
      if (name.empty()) continue;
      const io::Array present = to_bhnd(key ? inputs_.k : inputs_.v);
      outputs_.append(outputs_.add(name, present.dtype, present.shape), present.bytes);
    }
    if (!flags_.scores.empty()) scores_.emplace(flags_, inputs_, outputs_);
    out_ = io::Array(inputs_.dtype, shape);
    lse_ = io::Array(lse_dtype, lse_shape);
  }

  void run_reference() {
    ProgressBar bar(wide_ ? "heed run" : "heed run, scores");
    const auto extents = sequence_extents(inputs_.q, inputs_.k, inputs_.options);
    std::size_t next = 0;  // sequence whose scores come next
    const auto pad_until = [&](std::size_t sequence) {
      for (; scores_ && next < sequence; ++next) scores_->pad_empty(extents[next], inputs_.q.heads);
    };
    reference::for_each_block(inputs_.q, inputs_.k, inputs_.v, inputs_.options, bar.callback(),
                              [&](const reference::Block& block) {
                                pad_until(block.sequence);
                                if (scores_) scores_->append(block);
                                if (wide_)
                                  store(block, output_view(inputs_, out_), lse_.as<double>());
                              });
    pad_until(extents.size());
  }

  void finish_outputs() {
    if (out_file_) outputs_.append(*out_file_, out_.bytes);
    if (lse_file_) outputs_.append(*lse_file_, lse_.bytes);
    outputs_.commit();
  }

  const RunOptions& flags_;
  const AttentionInputs& inputs_;
  bool wide_;             // double, by the reference
  InterruptGuard guard_;  // before anything is begun that would have to be cleaned up
  OutputFiles outputs_;
  std::optional<std::size_t> out_file_, lse_file_;
  std::optional<ScoresWriter> scores_;
  io::Array out_, lse_;
};

}  // namespace

PlannedViews planned_views(const AttentionInputs& inputs) {
  PlannedViews views{inputs.q, inputs.k, inputs.v};
  if (inputs.dtype == DType::f64) views.q.dtype = views.k.dtype = views.v.dtype = DType::f32;
  return views;
}

void run_attention(const RunOptions& flags) {
  InputFiles files;
  AttentionInputs inputs;
  read_inputs(flags, files, inputs);
  if (flags.plan) {
    print_plan(flags, inputs);
  } else {
    AttentionRun(flags, inputs).run();
  }
}

}  // namespace heed::cli
