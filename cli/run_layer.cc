#include "cli/run_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "cli/estimate.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/run_inputs.h"
#include "cli/units.h"
#include "heed/layer.h"

namespace heed::cli {
namespace {

bool is_stored(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

// The weights of one layer by their names. Three spellings are known:
//   NAME.q_proj.weight ...         [out, in], biases NAME.q_proj.bias; output o_proj or out_proj
//   NAME.in_proj_weight            [out, in], query, key and value below one another; out_proj
//   NAME.W_Q NAME.W_K ...          [in, out], biases NAME.b_Q ...
class LayerFile {
 public:
  LayerFile(const io::TensorFile& file, const RunOptions& flags)
      : file_(file), label_(flags.from), prefix_(flags.layer.empty() ? "" : flags.layer + ".") {}

  MultiHeadWeights weights(std::size_t query_heads, std::optional<std::size_t> kv_heads) const {
    if (has("in_proj_weight")) return fused(query_heads, kv_heads.value_or(query_heads));
    MultiHeadWeights w;
    if (has("W_Q")) {
      const auto each = [&](const char* weight, const char* bias, VectorView& vector) {
        vector = bias_of(bias);
        return matrix(weight, false);
      };
      w.query = each("W_Q", "b_Q", w.query_bias);
      w.key = each("W_K", "b_K", w.key_bias);
      w.value = each("W_V", "b_V", w.value_bias);
      w.output = each("W_O", "b_O", w.output_bias);
      return w;
    }
    if (!has("q_proj.weight"))
      throw Error(fmt::format("{0}: has none of {1}q_proj.weight, {1}in_proj_weight and {1}W_Q",
                              label_, prefix_));
    w.query = linear("q_proj", w.query_bias);
    w.key = linear("k_proj", w.key_bias);
    w.value = linear("v_proj", w.value_bias);
    w.output = linear(output_name(), w.output_bias);
    return w;
  }

  std::optional<QkNorm> qk_norm() const {
    if (!has("q_norm.weight") && !has("k_norm.weight")) return {};
    return QkNorm{bias_of("q_norm.weight"), bias_of("k_norm.weight")};
  }

 private:
  bool has(std::string_view name) const {
    const std::string full = prefix_ + std::string(name);
    return std::ranges::any_of(file_.tensors(),
                               [&](const io::TensorInfo& tensor) { return tensor.name == full; });
  }

  io::ArrayView tensor(std::string_view name, std::size_t axes) const {
    io::ArrayView view = file_.view(prefix_ + std::string(name));
    if (view.shape.size() != axes || !is_stored(view.dtype))
      throw Error(fmt::format("{}:{}{}: holds {} {}, expected {} ax{} of f32, f16 or bf16", label_,
                              prefix_, name, name_of(view.dtype), io::to_string(view.shape), axes,
                              axes == 1 ? "is" : "es"));
    return view;
  }

  WeightView matrix(std::string_view name, bool out_first) const {
    const io::ArrayView view = tensor(name, 2);
    const std::size_t rows = view.shape[0], cols = view.shape[1];
    const auto stride = static_cast<std::ptrdiff_t>(cols);
    if (out_first) return {view.bytes.data(), view.dtype, cols, rows, 1, stride};
    return {view.bytes.data(), view.dtype, rows, cols, stride, 1};
  }

  VectorView bias_of(std::string_view name) const {
    if (!has(name)) return {};
    const io::ArrayView view = tensor(name, 1);
    return {view.bytes.data(), view.dtype, view.shape[0]};
  }

  WeightView linear(const std::string& name, VectorView& bias) const {
    bias = bias_of(name + ".bias");
    return matrix(name + ".weight", true);
  }

  std::string output_name() const { return has("o_proj.weight") ? "o_proj" : "out_proj"; }

  // in_proj_weight: query rows, then as many of the key as of the value.
  MultiHeadWeights fused(std::size_t query_heads, std::size_t kv_heads) const {
    const WeightView all = matrix("in_proj_weight", true);
    const VectorView biases = bias_of("in_proj_bias");
    // More heads than rows are as many as to overflow their sum.
    const bool divides = query_heads <= all.out && kv_heads <= all.out &&
                         all.out % (query_heads + 2 * kv_heads) == 0;
    if (!divides || (biases && biases.size != all.out))
      throw Error(
          fmt::format("{}:{}in_proj_weight: its {} rows are not {} heads of query and {} of "
                      "key and value{}",
                      label_, prefix_, all.out, query_heads, kv_heads,
                      biases ? fmt::format(", with {} biases", biases.size) : ""));
    const std::size_t dim = all.out / (query_heads + 2 * kv_heads);
    MultiHeadWeights w;
    std::size_t first = 0;
    const auto take = [&](std::size_t rows, VectorView& bias) {
      WeightView part = all;
      part.out = rows;
      part.data = static_cast<const std::byte*>(all.data) + first * all.in * size_of(all.dtype);
      if (biases)
        bias = {static_cast<const std::byte*>(biases.data) + first * size_of(biases.dtype),
                biases.dtype, rows};
      first += rows;
      return part;
    };
    w.query = take(query_heads * dim, w.query_bias);
    w.key = take(kv_heads * dim, w.key_bias);
    w.value = take(kv_heads * dim, w.value_bias);
    w.output = linear("out_proj", w.output_bias);
    return w;
  }

  const io::TensorFile& file_;
  std::string label_, prefix_;
};

MultiHeadConfig config_of(const RunOptions& flags, const MultiHeadWeights& w,
                          const LayerFile& file) {
  const std::size_t heads = *flags.query_heads;
  if (w.query.out % heads != 0)
    throw Error(
        fmt::format("--query-heads: is {}, which does not divide the {} columns of the "
                    "query",
                    heads, w.query.out));
  MultiHeadConfig config{.d_model = w.query.in, .d_context = w.key.in, .query_heads = heads};
  config.key_dim = w.query.out / heads;
  config.kv_heads =
      flags.kv_heads ? *flags.kv_heads : w.key.out / std::max<std::size_t>(1, *config.key_dim);
  if (*config.kv_heads != 0) config.value_dim = w.value.out / *config.kv_heads;
  config.qk_norm = file.qk_norm();
  if (flags.rope_base)
    config.rotary = Rotary{
        .base = *flags.rope_base,
        .pairs = flags.rope_interleaved ? RotaryPairs::interleaved : RotaryPairs::half_split};
  return config;
}

// Tokens [batch, tokens, dim] of a file with 3 axes, or 2.
ConstSequenceView read_tokens(const std::string& flag, const std::string& address,
                              const RunOptions& flags, InputFiles& files) {
  io::ArrayView array = files.open(flag, address);
  if (!flags.dtype.empty() && array.dtype != parse_dtype(flags.dtype))
    array = files.keep(io::convert(array, parse_dtype(flags.dtype)));
  const io::Shape& shape = array.shape;
  if (shape.size() < 2 || shape.size() > 3)
    throw Error(fmt::format("{} {}: has shape {}, expected (batch, tokens, dim) or (tokens, dim)",
                            flag, address, io::to_string(shape)));
  if (!is_stored(array.dtype))
    throw Error(fmt::format("{} {}: holds {}; give --dtype f32, f16 or bf16", flag, address,
                            name_of(array.dtype)));
  const std::size_t dim = shape.back(), tokens = shape[shape.size() - 2];
  const auto stride = static_cast<std::ptrdiff_t>(dim);
  return {array.bytes.data(),
          array.dtype,
          shape.size() == 3 ? shape[0] : 1,
          tokens,
          dim,
          stride * static_cast<std::ptrdiff_t>(tokens),
          stride};
}

void refuse_other_flags(const RunOptions& flags) {
  const std::pair<const char*, const std::string&> others[] = {
      {"--query", flags.query},
      {"--key", flags.key},
      {"--value", flags.value},
      {"--past-key", flags.past_key},
      {"--past-value", flags.past_value},
      {"--scores", flags.scores},
      {"--lse", flags.lse},
      {"--present-key", flags.present_key},
      {"--present-value", flags.present_value}};
  for (const auto& [flag, value] : others)
    if (!value.empty()) throw Error(fmt::format("{}: does not go with --from", flag));
  if (flags.rope_interleaved && !flags.rope_base)
    throw Error("--rope-interleaved: goes with --rope-base X");
  if (flags.input.empty()) throw Error("run: --from needs an input: heed run --from ... x.npy");
  if (!flags.query_heads || *flags.query_heads == 0)
    throw Error("--query-heads: is missing; the weights do not say how many heads share them");
  if (flags.output.empty() && !flags.plan)
    throw Error("run: nothing to write; give -o FILE, or --plan to see what would run");
}

SequenceView tokens_view(io::Array& array, std::size_t batch, std::size_t tokens) {
  const std::size_t dim = array.shape.back();
  const auto d = static_cast<std::ptrdiff_t>(dim);
  return {array.bytes.data(),
          array.dtype,
          batch,
          tokens,
          dim,
          d * static_cast<std::ptrdiff_t>(tokens),
          d};
}

// Flop/s of the layer on the first tokens of its input.
double measure_layer(const MultiHeadAttention& layer, ConstSequenceView x, ConstSequenceView z,
                     bool crossed, std::size_t threads) {
  constexpr std::size_t kMostTokens = 256;
  x.batch = z.batch = 1;
  x.tokens = std::min(x.tokens, kMostTokens);
  z.tokens = std::min(z.tokens, kMostTokens);
  io::Array out(x.dtype, {x.tokens, layer.d_model()});
  const SequenceView to = tokens_view(out, 1, x.tokens);
  LayerPlan plan(layer, 1, x.tokens, z.tokens, {}, {threads, {}});
  return measure(plan.info().flops,
                 [&] { crossed ? plan.cross_attention(x, z, to) : plan.self_attention(x, to); });
}

void print_layer_plan(const MultiHeadAttention& layer, const LayerPlanInfo& info, double speed) {
  std::string text = fmt::format("layer     {} -> {} heads of {}, {} of key and value ({}) -> {}\n",
                                 layer.d_model(), layer.query_heads(), layer.key_dim(),
                                 layer.kv_heads(), layer.value_dim(), layer.d_model());
  text += fmt::format("weights   {} numbers, read in place\n", layer.parameter_count());
  text += fmt::format("kernel    {}, {}, after projections on {} threads\n", info.attention.kernel,
                      info.attention.target, info.threads);
  text += fmt::format("memory    {} workspace\n",
                      with_prefix(static_cast<double>(info.workspace_bytes), "B"));
  text += fmt::format("work      {}, {} in and out\n", with_prefix(info.flops, "flop"),
                      with_prefix(info.bytes, "B"));
  text += time_line(info.flops, speed);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void run_layer(const RunOptions& flags) {
  refuse_other_flags(flags);
  InputFiles files;
  const LayerFile file(files.open_file("--from", flags.from), flags);
  const MultiHeadWeights weights = file.weights(*flags.query_heads, flags.kv_heads);
  const MultiHeadAttention layer(config_of(flags, weights, file), weights, WeightStorage::view);
  const ConstSequenceView x = read_tokens("x", flags.input, flags, files);
  const bool crossed = !flags.context.empty();
  const ConstSequenceView z = crossed ? read_tokens("--context", flags.context, flags, files) : x;

  AttentionInputs inputs;  // the shapes that the options refer to
  inputs.q = {nullptr, DType::f32, x.batch, layer.query_heads(), x.tokens, layer.key_dim()};
  inputs.k = {nullptr, DType::f32, z.batch, layer.kv_heads(), z.tokens, layer.key_dim()};
  read_options(flags, files, inputs);
  const LayerOptions options{.attention = inputs.options};

  const InterruptGuard guard;
  ProgressBar bar("heed run");
  LayerPlan plan(layer, x.batch, x.tokens, z.tokens, options, {flags.threads, bar.callback()});
  if (flags.plan)
    return print_layer_plan(layer, plan.info(),
                            measure_layer(layer, x, z, crossed, plan.info().threads));
  OutputFiles outputs;
  io::Shape shape{x.batch, x.tokens, layer.d_model()};
  if (files.open("x", flags.input).shape.size() == 2) shape.erase(shape.begin());
  const std::size_t output = outputs.add(flags.output, x.dtype, shape);
  io::Array out(x.dtype, shape);
  const SequenceView view = tokens_view(out, x.batch, x.tokens);
  if (crossed) {
    plan.cross_attention(x, z, view, options);
  } else {
    plan.self_attention(x, view, options);
  }
  outputs.append(output, out.bytes);
  outputs.commit();
}

}  // namespace heed::cli
