#include "cli/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace heed::cli {
namespace {

bool is_floating(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::f64;
}

// Strides of a contiguous tensor whose sizes are set.
template <class View>
void lay_out(View& view, Axes axes) {
  const auto d = static_cast<std::ptrdiff_t>(view.dim);
  const auto h = static_cast<std::ptrdiff_t>(view.heads);
  const auto n = static_cast<std::ptrdiff_t>(view.tokens);
  view.batch_stride = h * n * d;
  view.head_stride = axes == Axes::bhnd ? n * d : d;
  view.token_stride = axes == Axes::bhnd ? d : h * d;
}

// Reads one of query, key and value in the dtype that is wanted, if one is.
class TensorReader {
 public:
  TensorReader(const RunOptions& flags, InputFiles& files, std::size_t& copied_bytes)
      : ragged_(!flags.cu_seqlens_q.empty()), files_(files), copied_bytes_(copied_bytes) {
    if (!flags.dtype.empty()) wanted_ = parse_dtype(flags.dtype);
  }

  struct Tensor {
    ConstTensorView view;
    Axes axes = Axes::bhnd;
  };

  // `heads` is what the flag named `heads_flag` says, if it is given.
  Tensor read(const std::string& flag, const std::string& address, std::optional<std::size_t> heads,
              const std::string& heads_flag) {
    if (address.empty()) throw Error(flag + ": is missing");
    io::ArrayView array = files_.open(flag, address);
    if (!is_floating(array.dtype) && !wanted_)
      throw Error(fmt::format("{} {}: holds {}; give --dtype to have it converted", flag, address,
                              name_of(array.dtype)));
    if (wanted_ && array.dtype != *wanted_) {
      array = files_.keep(io::convert(array, *wanted_));
      copied_bytes_ += array.bytes.size();
    }
    const std::string name = flag + " " + address;
    const Axes axes = axes_of(name, array.shape, heads, heads_flag);
    return {view_of(name, array, axes, heads, heads_flag), axes};
  }

 private:
  Axes axes_of(const std::string& name, const io::Shape& shape, std::optional<std::size_t> heads,
               const std::string& heads_flag) const {
    switch (shape.size()) {
      case 4: return Axes::bhnd;
      case 2: return Axes::nd;
      case 3:
        if (heads) return Axes::bnhd;
        if (ragged_) return Axes::nhd;
        throw Error(fmt::format("{}: has shape {}, read as (batch, tokens, heads * dim): give {}",
                                name, io::to_string(shape), heads_flag));
      default:
        throw Error(
            fmt::format("{}: has shape {}, expected (batch, heads, tokens, dim) or (batch, "
                        "tokens, heads * dim)",
                        name, io::to_string(shape)));
    }
  }

  static ConstTensorView view_of(const std::string& name, const io::ArrayView& array, Axes axes,
                                 std::optional<std::size_t> heads, const std::string& heads_flag) {
    const io::Shape& shape = array.shape;
    const bool folded = axes == Axes::bnhd || axes == Axes::nd;  // heads and dim on one axis
    const std::size_t last = shape.back();
    const std::size_t wanted = heads.value_or(1);
    if (folded && (wanted == 0 || last % wanted != 0))
      throw Error(fmt::format("{}: its last axis of {} does not divide into {} {}", name, last,
                              heads_flag, wanted));
    if (axes == Axes::bhnd && heads && *heads != shape[1])
      throw Error(fmt::format("{}: has {} heads but {} is {}", name, shape[1], heads_flag, *heads));

    ConstTensorView view{.data = array.bytes.data(), .dtype = array.dtype};
    view.batch = axes == Axes::bhnd || axes == Axes::bnhd ? shape[0] : 1;
    view.heads = axes == Axes::bhnd || axes == Axes::nhd ? shape[1] : wanted;
    view.tokens = axes == Axes::bhnd ? shape[2] : axes == Axes::bnhd ? shape[1] : shape[0];
    view.dim = folded ? last / wanted : last;
    lay_out(view, axes);
    return view;
  }

  bool ragged_;
  InputFiles& files_;
  std::size_t& copied_bytes_;
  std::optional<DType> wanted_;
};

// An empty list would count as none given.
void require_numbers(const std::string& flag, const std::string& address,
                     const io::ArrayView& array) {
  if (array.size() == 0) throw Error(fmt::format("{} {}: holds no number", flag, address));
}

std::vector<std::int64_t> read_integers(const std::string& flag, const std::string& address,
                                        InputFiles& files) {
  if (address.empty()) return {};
  const io::ArrayView array = files.open(flag, address);
  if (is_floating(array.dtype) || array.dtype == DType::boolean || array.shape.size() != 1)
    throw Error(fmt::format("{} {}: holds {} {}, expected a list of whole numbers", flag, address,
                            name_of(array.dtype), io::to_string(array.shape)));
  require_numbers(flag, address, array);
  const io::Array numbers = io::convert(array, DType::i64);
  const auto values = numbers.as<std::int64_t>();
  return {values.begin(), values.end()};
}

// Where the sequences of a ragged batch begin, and the last one ends. The operator checks the rest;
// what is checked here lets the sequences be counted before that.
void read_sequences(const RunOptions& flags, InputFiles& files, AttentionInputs& inputs) {
  if (flags.cu_seqlens_q.empty() != flags.cu_seqlens_k.empty())
    throw Error("--cu-seqlens-q and --cu-seqlens-k belong together");
  if (flags.cu_seqlens_q.empty()) return;
  inputs.cu_seqlens_q = read_integers("--cu-seqlens-q", flags.cu_seqlens_q, files);
  inputs.cu_seqlens_k = read_integers("--cu-seqlens-k", flags.cu_seqlens_k, files);
  const std::size_t queries = inputs.cu_seqlens_q.size(), keys = inputs.cu_seqlens_k.size();
  if (queries != keys)
    throw Error(
        fmt::format("--cu-seqlens-q has {} values but --cu-seqlens-k has {}", queries, keys));
}

std::vector<float> read_floats(const std::string& flag, const std::string& address,
                               InputFiles& files) {
  if (address.empty()) return {};
  const io::ArrayView array = files.open(flag, address);
  if (!is_floating(array.dtype) || array.shape.size() != 1)
    throw Error(fmt::format("{} {}: holds {} {}, expected a list of numbers, one per query head",
                            flag, address, name_of(array.dtype), io::to_string(array.shape)));
  require_numbers(flag, address, array);
  const io::Array numbers = io::convert(array, DType::f32);
  const auto values = numbers.as<float>();
  return {values.begin(), values.end()};
}

// -infinity in a floating type, false in a boolean one.
std::vector<std::byte> hidden_score(DType dtype) {
  if (dtype == DType::boolean) return {std::byte{0}};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return io::convert(io::array_of<double>({}, {-kInf}), dtype).bytes;
}

// The mask with its last axis as long as the keys: keys that it does not mention are hidden.
io::Array padded(const io::ArrayView& mask, std::size_t keys) {
  io::Shape shape = mask.shape;
  const std::size_t given = shape.back();
  shape.back() = keys;
  io::Array result(mask.dtype, shape);
  const std::vector<std::byte> hidden = hidden_score(mask.dtype);
  const std::size_t width = hidden.size();
  shape.pop_back();
  for (std::size_t row = 0; row < io::element_count(shape); ++row) {
    std::byte* to = result.bytes.data() + row * keys * width;
    std::copy_n(mask.bytes.data() + row * given * width, given * width, to);
    for (std::size_t j = given; j < keys; ++j) std::copy_n(hidden.data(), width, to + j * width);
  }
  return result;
}

void read_mask(const RunOptions& flags, InputFiles& files, std::size_t keys,
               AttentionInputs& inputs) {
  if (flags.attn_mask.empty()) return;
  const std::string name = "--attn-mask " + flags.attn_mask;
  io::ArrayView mask = files.open("--attn-mask", flags.attn_mask);
  const bool boolean = mask.dtype == DType::boolean;
  if (!boolean && !is_floating(mask.dtype))
    throw Error(
        fmt::format("{}: holds {}; a mask is boolean (true = attend) or floating (added "
                    "to the scores)",
                    name, name_of(mask.dtype)));
  if (mask.shape.empty() || mask.shape.size() > 4)
    throw Error(fmt::format("{}: has shape {}, expected up to (batch, heads, queries, keys)", name,
                            io::to_string(mask.shape)));
  if (mask.shape.back() < keys && mask.shape.back() != 1) {
    mask = files.keep(padded(mask, keys));
    inputs.copied_bytes += mask.bytes.size();
  }
  ScoreView view{.data = mask.bytes.data(), .dtype = mask.dtype};
  std::ptrdiff_t stride = 1;
  for (std::size_t axis = mask.shape.size(), to = 4; axis-- > 0;) {
    view.sizes[--to] = mask.shape[axis];
    view.strides[to] = stride;
    stride *= static_cast<std::ptrdiff_t>(mask.shape[axis]);
  }
  (boolean ? inputs.options.mask : inputs.options.bias) = view;
}

// Puts a tensor's tokens into `to` [batch, heads, more tokens, dim], from token `first` on.
void copy_tokens(ConstTensorView from, io::Array& to, std::size_t first) {
  const std::size_t width = size_of(from.dtype), row = from.dim * width;
  const auto at = [](std::size_t i, std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(i) * stride;
  };
  for (std::size_t b = 0; b < from.batch; ++b)
    for (std::size_t h = 0; h < from.heads; ++h)
      for (std::size_t i = 0; i < from.tokens; ++i) {
        const std::ptrdiff_t offset =
            at(b, from.batch_stride) + at(h, from.head_stride) + at(i, from.token_stride);
        std::copy_n(static_cast<const std::byte*>(from.data) + at(width, offset), row,
                    to.bytes.data() + ((b * from.heads + h) * to.shape[2] + first + i) * row);
      }
}

// Past and present keys or values, one after the other along the tokens.
ConstTensorView concatenated(const std::string& name, ConstTensorView past, ConstTensorView now,
                             InputFiles& files, std::size_t& copied_bytes) {
  const auto same = [&](const char* what, auto a, auto b) {
    if (a != b)
      throw Error(fmt::format("--past-{0} has {1} {2} but --{0} has {3}", name, what, a, b));
  };
  same("batch", past.batch, now.batch);
  same("heads", past.heads, now.heads);
  same("head_dim", past.dim, now.dim);
  same("dtype", name_of(past.dtype), name_of(now.dtype));
  ConstTensorView both = now;
  both.tokens = past.tokens + now.tokens;
  lay_out(both, Axes::bhnd);
  io::Array array(both.dtype, {both.batch, both.heads, both.tokens, both.dim});
  copy_tokens(past, array, 0);
  copy_tokens(now, array, past.tokens);
  copied_bytes += array.bytes.size();
  both.data = files.keep(std::move(array)).bytes.data();
  return both;
}

// Query 0 of every sequence so far from its first key that the last query meets its last key.
std::vector<std::int64_t> lower_right_offsets(const AttentionInputs& inputs) {
  std::vector<std::int64_t> offsets;
  for (const SequenceExtent& at : sequence_extents(inputs.q, inputs.k, inputs.options)) {
    const std::size_t n = offsets.size();
    const std::size_t keys =
        n < inputs.key_lengths.size() ? static_cast<std::size_t>(inputs.key_lengths[n]) : at.keys;
    offsets.push_back(static_cast<std::int64_t>(keys - at.queries));  // may be negative
  }
  return offsets;
}

void read_query_offset(const RunOptions& flags, InputFiles& files, AttentionInputs& inputs) {
  const std::string& text = flags.query_offset;
  if (text.empty()) return;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    inputs.options.query_offset = number;
    return;
  }
  inputs.query_offsets = text == "lower-right" ? lower_right_offsets(inputs)
                                               : read_integers("--query-offset", text, files);
  inputs.options.query_offsets = inputs.query_offsets;
}

void set_options(const RunOptions& flags, AttentionInputs& inputs) {
  AttentionOptions& options = inputs.options;
  options.scale = flags.scale;
  options.softcap = flags.softcap;
  if (!flags.causal.empty())
    options.causal = flags.causal == "upper-left" ? Causal::upper_left : Causal::lower_right;
  options.window_left = flags.window_left;
  options.window_right = flags.window_right;
  options.key_lengths = inputs.key_lengths;
  options.cu_seqlens_q = inputs.cu_seqlens_q;
  options.cu_seqlens_k = inputs.cu_seqlens_k;
  options.alibi_slopes = inputs.alibi_slopes;
  options.sinks = inputs.sinks;
}

// The most keys that any row of scores has.
std::size_t most_keys(const AttentionInputs& inputs) {
  const auto& ends = inputs.cu_seqlens_k;
  if (ends.empty()) return inputs.k.tokens;
  std::int64_t most = 0;
  for (std::size_t n = 1; n < ends.size(); ++n)
    if (ends[n - 1] >= 0) most = std::max(most, ends[n] - ends[n - 1]);
  return std::min(static_cast<std::size_t>(most), inputs.k.tokens);  // the operator checks the rest
}

}  // namespace

DType parse_dtype(const std::string& name) {
  for (const DType t : {DType::f32, DType::f16, DType::bf16, DType::f64})
    if (name == name_of(t)) return t;
  throw Error("--dtype: is " + name + ", expected f32, f16, bf16 or f64");
}

std::vector<SequenceExtent> sequence_extents(ConstTensorView q, ConstTensorView k,
                                             const AttentionOptions& options) {
  std::vector<SequenceExtent> extents;
  if (options.cu_seqlens_q.empty()) {
    for (std::size_t b = 0; b < q.batch; ++b) extents.push_back({b, 0, 0, q.tokens, k.tokens});
    return extents;
  }
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  for (std::size_t n = 1; n < options.cu_seqlens_q.size(); ++n) {
    const std::size_t query = size(options.cu_seqlens_q[n - 1]);
    const std::size_t key = size(options.cu_seqlens_k[n - 1]);
    extents.push_back({0, query, key, size(options.cu_seqlens_q[n]) - query,
                       size(options.cu_seqlens_k[n]) - key});
  }
  return extents;
}

void read_options(const RunOptions& flags, InputFiles& files, AttentionInputs& inputs) {
  read_sequences(flags, files, inputs);
  inputs.key_lengths = read_integers("--kv-lengths", flags.kv_lengths, files);
  inputs.alibi_slopes = read_floats("--alibi", flags.alibi, files);
  inputs.sinks = read_floats("--sinks", flags.sinks, files);
  set_options(flags, inputs);
  read_query_offset(flags, files, inputs);
  read_mask(flags, files, most_keys(inputs), inputs);
}

void read_inputs(const RunOptions& flags, InputFiles& files, AttentionInputs& inputs) {
  if (flags.past_key.empty() != flags.past_value.empty())
    throw Error("--past-key and --past-value belong together");
  if (!flags.past_key.empty() && !flags.cu_seqlens_k.empty())
    throw Error("--past-key and --cu-seqlens-k do not go together");
  const auto kv_heads = flags.kv_heads ? flags.kv_heads : flags.query_heads;
  const std::string kv_flag = flags.kv_heads ? "--kv-heads" : "--query-heads";
  TensorReader reader(flags, files, inputs.copied_bytes);
  const auto query = reader.read("--query", flags.query, flags.query_heads, "--query-heads");
  inputs.q = query.view;
  inputs.axes = query.axes;
  inputs.k = reader.read("--key", flags.key, kv_heads, kv_flag).view;
  inputs.v = reader.read("--value", flags.value, kv_heads, kv_flag).view;
  if (!flags.past_key.empty()) {
    const auto past_k = reader.read("--past-key", flags.past_key, kv_heads, kv_flag).view;
    const auto past_v = reader.read("--past-value", flags.past_value, kv_heads, kv_flag).view;
    inputs.k = concatenated("key", past_k, inputs.k, files, inputs.copied_bytes);
    inputs.v = concatenated("value", past_v, inputs.v, files, inputs.copied_bytes);
  }
  const bool wide =
      inputs.q.dtype == DType::f64 || inputs.k.dtype == DType::f64 || inputs.v.dtype == DType::f64;
  inputs.dtype = wide ? DType::f64 : inputs.q.dtype;
  read_options(flags, files, inputs);
}

io::Shape output_shape(const AttentionInputs& inputs, std::size_t dim) {
  const auto& q = inputs.q;
  switch (inputs.axes) {
    case Axes::bhnd: return {q.batch, q.heads, q.tokens, dim};
    case Axes::bnhd: return {q.batch, q.tokens, q.heads * dim};
    case Axes::nhd: return {q.tokens, q.heads, dim};
    case Axes::nd: break;
  }
  return {q.tokens, q.heads * dim};
}

TensorView output_view(const AttentionInputs& inputs, io::Array& out) {
  const auto& q = inputs.q;
  TensorView view{out.bytes.data(), out.dtype, q.batch, q.heads, q.tokens, inputs.v.dim};
  lay_out(view, inputs.axes);
  return view;
}

io::Array to_bhnd(ConstTensorView view) {
  io::Array array(view.dtype, {view.batch, view.heads, view.tokens, view.dim});
  copy_tokens(view, array, 0);
  return array;
}

}  // namespace heed::cli
