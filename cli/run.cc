// heed run: attention on tensors in files.
#include "cli/run.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/run_attention.h"
#include "cli/run_layer.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

void check_threads(std::size_t threads) {
  constexpr std::size_t kMost = 1024;
  if (threads > kMost)
    throw Error("--threads: is " + std::to_string(threads) + ", expected at most " +
                std::to_string(kMost));
}

// What would have no effect is a mistake.
void refuse_layer_flags(const RunOptions& flags) {
  const auto refuse = [](const char* flag) {
    throw Error(std::string(flag) + ": goes with --from FILE, a multi-head layer");
  };
  if (!flags.layer.empty()) refuse("--layer");
  if (!flags.context.empty()) refuse("--context");
  if (flags.rope_base) refuse("--rope-base");
  if (flags.rope_interleaved) refuse("--rope-interleaved");
  if (!flags.input.empty()) refuse(flags.input.c_str());
}

void run(const RunOptions& flags) {
  check_threads(flags.threads);
  try {
    if (flags.from.empty()) {
      refuse_layer_flags(flags);
      run_attention(flags);
    } else {
      run_layer(flags);
    }
  } catch (const Cancelled&) {
    std::fputs("heed: stopped, nothing was written\n", stderr);
    throw ExitCode{interrupted_exit_code()};
  }
}

// One of these words; the help says which, so the type need not.
CLI::Validator one_of(const std::vector<std::string>& words) {
  return CLI::IsMember(words).description("");
}

// Adds options under one heading of the help.
class Group {
 public:
  Group(CLI::App& command, std::string name) : command_(command), name_(std::move(name)) {}

  template <class T>
  CLI::Option* add(const char* flag, T& value, const char* type, const char* help) {
    return command_.add_option(flag, value, help)->group(name_)->type_name(type);
  }

 private:
  CLI::App& command_;
  std::string name_;
};

void add_tensor_flags(CLI::App& command, RunOptions& flags) {
  Group group(command, "Tensors");
  group.add("-q,--query", flags.query, "FILE", "(B, H, N, d), or (B, N, H*d) with --query-heads");
  group.add("-k,--key", flags.key, "FILE", "Likewise, with --kv-heads");
  group.add("-v,--value", flags.value, "FILE", "Likewise; its d may differ");
  group.add("--query-heads", flags.query_heads, "H", "Heads of a 3-D or 2-D query");
  group.add("--kv-heads", flags.kv_heads, "H", "Heads of a 3-D or 2-D key and value");
  group.add("--past-key", flags.past_key, "FILE", "Keys that come before --key");
  group.add("--past-value", flags.past_value, "FILE", "Values that come before --value");
  group.add("--kv-lengths", flags.kv_lengths, "FILE", "Keys of each row that are not padding");
  group.add("--cu-seqlens-q", flags.cu_seqlens_q, "FILE", "Ragged batch: where queries begin");
  group.add("--cu-seqlens-k", flags.cu_seqlens_k, "FILE", "Ragged batch: where keys begin");
}

void add_score_flags(CLI::App& command, RunOptions& flags) {
  Group group(command, "Scores");
  group.add("--attn-mask", flags.attn_mask, "FILE", "Boolean (true = attend), or added");
  group.add("--causal", flags.causal, "CORNER", "upper-left or lower-right: j <= i + offset only")
      ->check(one_of({"upper-left", "lower-right"}));
  group.add("--query-offset", flags.query_offset, "N",
            "Query i stands at key i + N (or: lower-right, FILE)");
  group.add("--window-left", flags.window_left, "N", "Keys seen to the left of a query");
  group.add("--window-right", flags.window_right, "N", "Keys seen to the right of a query");
  group.add("--scale", flags.scale, "X", "Of the scores; default 1 / sqrt(d)");
  group.add("--softcap", flags.softcap, "X", "s <- X * tanh(s / X)");
  group.add("--alibi", flags.alibi, "FILE", "Slopes, one per query head");
  group.add("--sinks", flags.sinks, "FILE", "Sink logits, one per query head");
}

void add_output_flags(CLI::App& command, RunOptions& flags) {
  Group group(command, "Output");
  group.add("-o,--output", flags.output, "FILE", "The result, laid out like the query");
  group.add("--lse", flags.lse, "FILE", "Logsumexp of every row (B, H, N)");
  group.add("--scores", flags.scores, "FILE", "Scores (B, H, N, keys), by the reference");
  group.add("--scores-stage", flags.scores_stage, "STAGE", "raw, softcap, bias or softmax")
      ->check(one_of({"raw", "softcap", "bias", "softmax"}))
      ->capture_default_str();
  group.add("--present-key", flags.present_key, "FILE", "Past and present keys (B, H, N, d)");
  group.add("--present-value", flags.present_value, "FILE", "Past and present values");
}

void add_layer_flags(CLI::App& command, RunOptions& flags) {
  Group group(command, "Multi-head layer");
  group.add("--from", flags.from, "FILE", "Where its weights are: safetensors, an index, .npz");
  group.add("--layer", flags.layer, "NAME", "What the names of its weights begin with");
  group.add("--context", flags.context, "FILE", "Keys and values come from this (B, N, d)");
  group.add("--rope-base", flags.rope_base, "X", "Rotary positions, for example 10000");
  command.add_flag("--rope-interleaved", flags.rope_interleaved, "Pairs 2c, 2c+1, not c, c+d/2")
      ->group("Multi-head layer");
  group.add("x", flags.input, "FILE", "Its input (B, N, d_model) or (N, d_model)");
}

void add_execution_flags(CLI::App& command, RunOptions& flags) {
  Group group(command, "Execution");
  group.add("--dtype", flags.dtype, "TYPE", "f32, f16, bf16 or f64: convert inputs to it")
      ->check(one_of({"f32", "f16", "bf16", "f64"}));
  group.add("--threads", flags.threads, "N", "At most this many; default: all");
  command.add_flag("--plan", flags.plan, "Say what would run, and stop")->group("Execution");
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Computes attention on tensors in files");
  auto flags = std::make_shared<RunOptions>();
  add_tensor_flags(*command, *flags);
  add_score_flags(*command, *flags);
  add_output_flags(*command, *flags);
  add_layer_flags(*command, *flags);
  add_execution_flags(*command, *flags);
  command->footer(
      "FILE is x.npy, x.npz:NAME or x.safetensors:NAME; - is standard input or output.\n"
      "docs/cli.md explains every option.");
  command->callback([flags] { run(*flags); });
}

}  // namespace heed::cli
