// heed run: attention on tensors in files.
#include "cli/run.h"

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/run_attention.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

void check_threads(std::size_t threads) {
  constexpr std::size_t kMost = 1024;
  if (threads > kMost)
    throw Error("--threads: is " + std::to_string(threads) + ", expected at most " +
                std::to_string(kMost));
}

void run(const RunOptions& flags) {
  check_threads(flags.threads);
  try {
    run_attention(flags);
  } catch (const Cancelled&) {
    std::fputs("heed: stopped, nothing was written\n", stderr);
    throw ExitCode{interrupted_exit_code()};
  }
}

void add_tensor_flags(CLI::App& command, RunOptions& flags) {
  const auto group = [&](const std::string& name) { return command.add_option_group(name); };
  CLI::App* in = group("Tensors");
  in->add_option("-q,--query", flags.query, "(B, H, N, d), or (B, N, H*d) with --query-heads");
  in->add_option("-k,--key", flags.key, "Likewise, with --kv-heads");
  in->add_option("-v,--value", flags.value, "Likewise; its d may differ");
  in->add_option("--query-heads", flags.query_heads, "Heads of a 3-D or 2-D query");
  in->add_option("--kv-heads", flags.kv_heads, "Heads of a 3-D or 2-D key and value");
  in->add_option("--past-key", flags.past_key, "Keys that come before --key");
  in->add_option("--past-value", flags.past_value, "Values that come before --value");
  in->add_option("--kv-lengths", flags.kv_lengths, "Keys of each batch row that are not padding");
  in->add_option("--cu-seqlens-q", flags.cu_seqlens_q,
                 "Ragged batch: where each sequence's queries begin, and the end");
  in->add_option("--cu-seqlens-k", flags.cu_seqlens_k, "The same of the keys");
}

void add_score_flags(CLI::App& command, RunOptions& flags) {
  CLI::App* scores = command.add_option_group("Scores");
  scores->add_option("--attn-mask", flags.attn_mask,
                     "Boolean (true = attend) or added; broadcast from the right");
  scores->add_option("--causal", flags.causal, "Key j <= query i + offset only")
      ->check(CLI::IsMember({"upper-left", "lower-right"}));
  scores->add_option("--query-offset", flags.query_offset,
                     "Query i stands at key i + offset: a number, lower-right, or a file");
  scores->add_option("--window-left", flags.window_left, "Keys seen to the left of a query");
  scores->add_option("--window-right", flags.window_right, "Keys seen to the right of a query");
  scores->add_option("--scale", flags.scale, "Of the scores; default 1 / sqrt(d)");
  scores->add_option("--softcap", flags.softcap, "s <- softcap * tanh(s / softcap)");
  scores->add_option("--alibi", flags.alibi, "Slopes, one per query head");
  scores->add_option("--sinks", flags.sinks, "Sink logits, one per query head");
}

void add_output_flags(CLI::App& command, RunOptions& flags) {
  CLI::App* out = command.add_option_group("Output");
  out->add_option("-o,--output", flags.output, "The result, laid out like the query");
  out->add_option("--lse", flags.lse, "Logsumexp of every row (B, H, N)");
  out->add_option("--scores", flags.scores, "Scores (B, H, N, keys), in blocks, by the reference");
  out->add_option("--scores-stage", flags.scores_stage, "raw, softcap, bias or softmax")
      ->check(CLI::IsMember({"raw", "softcap", "bias", "softmax"}))
      ->capture_default_str();
  out->add_option("--present-key", flags.present_key, "Past and present keys (B, H, N, d)");
  out->add_option("--present-value", flags.present_value, "Past and present values");
}

void add_execution_flags(CLI::App& command, RunOptions& flags) {
  CLI::App* how = command.add_option_group("Execution");
  how->add_option("--dtype", flags.dtype, "Convert inputs, and so the output, to this")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "f64"}));
  how->add_option("--threads", flags.threads, "At most this many; default: all");
  how->add_flag("--plan", flags.plan, "Say what would run, and stop");
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Computes attention on tensors in files");
  auto flags = std::make_shared<RunOptions>();
  add_tensor_flags(*command, *flags);
  add_score_flags(*command, *flags);
  add_output_flags(*command, *flags);
  add_execution_flags(*command, *flags);
  command->footer(
      "Files are .npy, or FILE:NAME of an .npz or safetensors file; - is standard input or "
      "output.\nEvery option is explained in docs/cli.md.");
  command->callback([flags] { run(*flags); });
}

}  // namespace heed::cli
