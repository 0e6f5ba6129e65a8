#include "base/problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "base/checks.h"

namespace heed {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
// Sizes stay below a quarter of the 64-bit range, so that sums of a few of them are exact.
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 62;

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  if (b > 0 && a > kMost - b) return kMost;
  if (b < 0 && a < kLeast - b) return kLeast;
  return a + b;
}

std::int64_t to_signed(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

// Every element's offset from `data` must be a ptrdiff_t in bytes.
void require_extent(std::string_view name, std::size_t element_bytes,
                    std::initializer_list<std::size_t> sizes,
                    std::initializer_list<std::ptrdiff_t> strides) {
  constexpr auto kMostBytes =
      static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
  for (const std::size_t size : sizes)
    if (size == 0) return;
  std::uint64_t reach = element_bytes;
  auto stride = strides.begin();
  for (const std::size_t size : sizes) {
    const std::int64_t s = *stride++;
    const std::uint64_t step =
        s < 0 ? 0 - static_cast<std::uint64_t>(s) : static_cast<std::uint64_t>(s);
    if (step == 0 || size == 1) continue;
    const std::uint64_t room = (kMostBytes - reach) / element_bytes / (size - 1);
    require(step <= room, "attention: ", name, " has ", size, " rows of stride ", s,
            ", more than the address space holds");
    reach += step * (size - 1) * element_bytes;
  }
}

void require_shapes_agree(ConstTensorView q, ConstTensorView k, ConstTensorView v) {
  require_tensor("query", q);
  require_tensor("key", k);
  require_tensor("value", v);
  require(q.dim == k.dim, "attention: query has head_dim ", q.dim, " but key has ", k.dim);
  require(q.batch == k.batch, "attention: query has batch ", q.batch, " but key has ", k.batch);
  require(k.batch == v.batch, "attention: key has batch ", k.batch, " but value has ", v.batch);
  require(k.heads == v.heads, "attention: key has ", k.heads, " heads but value has ", v.heads);
  require(k.tokens == v.tokens, "attention: key has ", k.tokens, " tokens but value has ",
          v.tokens);
  require(q.heads % k.heads == 0, "attention: query has ", q.heads,
          " heads, which is not a multiple of key's ", k.heads);
}

template <class T>
void require_count(std::string_view name, std::span<const T> values, std::string_view of,
                   std::size_t count) {
  require(values.empty() || values.size() == count, "attention: ", name, " has ", values.size(),
          " values but there are ", count, " ", of);
}

void require_window(std::string_view name, std::optional<std::int64_t> window) {
  require(!window || *window >= 0, "attention: ", name, " is ", window.value_or(0),
          ", expected at least 0");
}

// What can be said of the options without the sequences.
void require_options(const Problem& problem, const AttentionOptions& options) {
  if (options.scale)
    require(std::isfinite(*options.scale), "attention: scale is ", *options.scale,
            ", expected a finite number");
  if (options.softcap)
    require(std::isfinite(*options.softcap) && *options.softcap > 0, "attention: softcap is ",
            *options.softcap, ", expected a finite number above 0");
  require_window("window_left", options.window_left);
  require_window("window_right", options.window_right);
  require(!options.query_offset || options.query_offsets.empty(), "attention: query_offset is ",
          options.query_offset.value_or(0), " but query_offsets has ", options.query_offsets.size(),
          " values; give one of them");
  require_count("alibi_slopes", options.alibi_slopes, "query heads", problem.query_heads);
  require_count("sinks", options.sinks, "query heads", problem.query_heads);
  for (std::size_t h = 0; h < options.alibi_slopes.size(); ++h)
    require(std::isfinite(options.alibi_slopes[h]), "attention: alibi_slopes[", h, "] is ",
            options.alibi_slopes[h], ", expected a finite number");
  for (std::size_t h = 0; h < options.sinks.size(); ++h)  // -infinity: no sink for this head
    require(options.sinks[h] < std::numeric_limits<float>::infinity(), "attention: sinks[", h,
            "] is ", options.sinks[h], ", expected a number below infinity");
}

void require_cu_seqlens(std::string_view name, std::span<const std::int64_t> cu,
                        std::string_view tensor, std::size_t tokens) {
  require(cu.front() == 0, "attention: ", name, " starts at ", cu.front(), ", expected 0");
  for (std::size_t n = 1; n < cu.size(); ++n)
    require(cu[n - 1] <= cu[n], "attention: ", name, " falls from ", cu[n - 1], " to ", cu[n],
            " at index ", n);
  require(static_cast<std::uint64_t>(cu.back()) == tokens, "attention: ", name, " ends at ",
          cu.back(), " but ", tensor, " has ", tokens, " tokens");
}

void fill_ragged(Problem& problem, ConstTensorView q, ConstTensorView k,
                 const AttentionOptions& options) {
  const auto cu_q = options.cu_seqlens_q, cu_k = options.cu_seqlens_k;
  require(cu_q.size() == cu_k.size(), "attention: cu_seqlens_q has ", cu_q.size(),
          " values but cu_seqlens_k has ", cu_k.size());
  require(q.batch == 1, "attention: query has batch ", q.batch,
          ", expected 1 with cu_seqlens_q (a ragged batch)");
  require_cu_seqlens("cu_seqlens_q", cu_q, "query", q.tokens);
  require_cu_seqlens("cu_seqlens_k", cu_k, "key", k.tokens);
  for (std::size_t n = 0; n + 1 < cu_q.size(); ++n) {
    Sequence s;
    s.first_query = static_cast<std::size_t>(cu_q[n]);
    s.first_key = static_cast<std::size_t>(cu_k[n]);
    s.queries = static_cast<std::size_t>(cu_q[n + 1] - cu_q[n]);
    s.keys = static_cast<std::size_t>(cu_k[n + 1] - cu_k[n]);
    problem.sequences.push_back(s);
  }
}

void fill_padded(Problem& problem, ConstTensorView q, ConstTensorView k) {
  for (std::size_t b = 0; b < q.batch; ++b)
    problem.sequences.push_back({.batch = b, .queries = q.tokens, .keys = k.tokens});
}

void fill_key_lengths(Problem& problem, const AttentionOptions& options) {
  require_count("key_lengths", options.key_lengths, "sequences", problem.sequences.size());
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    Sequence& s = problem.sequences[n];
    const std::int64_t length =
        options.key_lengths.empty() ? to_signed(s.keys) : options.key_lengths[n];
    require(length >= 0 && length <= to_signed(s.keys), "attention: key_lengths[", n, "] is ",
            length, " but that sequence has ", s.keys, " keys");
    s.key_length = static_cast<std::size_t>(length);
  }
}

void fill_offsets(Problem& problem, const AttentionOptions& options) {
  require_count("query_offsets", options.query_offsets, "sequences", problem.sequences.size());
  const bool stated =
      options.query_offset || !options.query_offsets.empty() || options.causal.has_value();
  const std::string_view needs = options.window_left             ? "window_left"
                                 : options.window_right          ? "window_right"
                                 : !options.alibi_slopes.empty() ? "alibi_slopes"
                                                                 : "";
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    Sequence& s = problem.sequences[n];
    require(stated || needs.empty() || s.queries == s.key_length, "attention: ", needs,
            " needs causal or query_offset, because sequence ", n, " has ", s.queries,
            " queries but ", s.key_length, " keys");
    if (options.query_offset)
      s.offset = *options.query_offset;
    else if (!options.query_offsets.empty())
      s.offset = options.query_offsets[n];
    else if (options.causal == Causal::lower_right)
      s.offset = to_signed(s.key_length) - to_signed(s.queries);
  }
}

// The view with stride 0 along the axes it broadcasts.
ScoreView checked_scores(std::string_view name, const Problem& problem, ScoreView view,
                         std::initializer_list<DType> dtypes) {
  if (!view) return view;
  require_dtype(name, view.dtype, dtypes);
  constexpr std::array<std::string_view, 4> kAxes = {"sequences", "query heads", "queries", "keys"};
  const std::array<std::size_t, 4> expected = {problem.sequences.size(), problem.query_heads,
                                               problem.most_queries, problem.most_keys};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::size_t size = view.sizes[axis];
    require(size == 1 || size == expected[axis], "attention: ", name, " has ", size, " ",
            kAxes[axis], " but there are ", expected[axis]);
    if (size == 1) view.strides[axis] = 0;
  }
  require_extent(name, size_of(view.dtype),
                 {view.sizes[0], view.sizes[1], view.sizes[2], view.sizes[3]},
                 {view.strides[0], view.strides[1], view.strides[2], view.strides[3]});
  return view;
}

}  // namespace

void describe(Problem& problem, ConstTensorView q, ConstTensorView k, ConstTensorView v,
              const AttentionOptions& options) {
  require_shapes_agree(q, k, v);
  problem.query_heads = q.heads;
  problem.kv_heads = k.heads;
  problem.key_dim = q.dim;
  problem.value_dim = v.dim;
  require_options(problem, options);
  problem.scale = options.scale ? static_cast<double>(*options.scale)
                                : 1.0 / std::sqrt(static_cast<double>(q.dim));

  problem.sequences.clear();
  problem.ragged = !options.cu_seqlens_q.empty() || !options.cu_seqlens_k.empty();
  if (problem.ragged)
    fill_ragged(problem, q, k, options);
  else
    fill_padded(problem, q, k);
  problem.most_queries = problem.most_keys = 0;
  for (const Sequence& s : problem.sequences) {
    problem.most_queries = std::max(problem.most_queries, s.queries);
    problem.most_keys = std::max(problem.most_keys, s.keys);
  }
  fill_key_lengths(problem, options);
  fill_offsets(problem, options);
  problem.reach_left = options.window_left;
  problem.reach_right = options.causal ? std::int64_t{0} : options.window_right;
  problem.mask = checked_scores("mask", problem, options.mask, {DType::boolean, DType::u8});
  problem.bias = checked_scores("bias", problem, options.bias,
                                {DType::f32, DType::f16, DType::bf16, DType::f64});
}

Problem describe(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                 const AttentionOptions& options) {
  Problem problem;
  describe(problem, q, k, v, options);
  return problem;
}

KeyRange Problem::visible_keys(const Sequence& sequence, std::size_t i) const {
  // Saturation is exact here: whatever passes the ends of int64 lies outside [0, key_length] too.
  const std::int64_t query = to_signed(i), length = to_signed(sequence.key_length);
  std::int64_t begin = 0, end = length;
  if (reach_left) {
    const std::int64_t first = saturating_add(saturating_add(sequence.offset, -*reach_left), query);
    begin = std::clamp<std::int64_t>(first, 0, length);
  }
  if (reach_right) {
    const std::int64_t last = saturating_add(saturating_add(sequence.offset, *reach_right), query);
    end = std::clamp<std::int64_t>(saturating_add(last, 1), begin, length);
  }
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

void require_output(const Problem& problem, ConstTensorView q, ConstTensorView out) {
  require(out.batch == q.batch, "attention: query has batch ", q.batch, " but out has ", out.batch);
  require(out.heads == problem.query_heads, "attention: query has ", problem.query_heads,
          " heads but out has ", out.heads);
  require(out.tokens == q.tokens, "attention: query has ", q.tokens, " tokens but out has ",
          out.tokens);
  require(out.dim == problem.value_dim, "attention: value has head_dim ", problem.value_dim,
          " but out has ", out.dim);
  require_extent("out", size_of(out.dtype), {out.batch, out.heads, out.tokens, out.dim},
                 {out.batch_stride, out.head_stride, out.token_stride, 1});
}

void require_tensor(std::string_view name, ConstTensorView t) {
  require_dtype(name, t.dtype, {DType::f32, DType::f16, DType::bf16, DType::f64});
  require(t.heads > 0, "attention: ", name, " has 0 heads, expected at least 1");
  require(t.dim > 0, "attention: ", name, " has head_dim 0, expected at least 1");
  require(std::max<std::uint64_t>(t.tokens, t.batch) < kMostTokens, "attention: ", name,
          " has batch ", t.batch, " and ", t.tokens, " tokens, more than the ", kMostTokens,
          " that can be counted");
  require_extent(name, size_of(t.dtype), {t.batch, t.heads, t.tokens, t.dim},
                 {t.batch_stride, t.head_stride, t.token_stride, 1});
}

void require_dtype(std::string_view name, DType dtype, std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end()) return;
  std::ostringstream names;
  for (std::size_t n = 0; n < allowed.size(); ++n)
    names << (n == 0 ? "" : n + 1 == allowed.size() ? " or " : ", ") << name_of(allowed.begin()[n]);
  fail("attention: ", name, " has dtype ", name_of(dtype), ", expected ", names.str());
}

void require_data(std::string_view name, ConstTensorView tensor) {
  const bool empty =
      tensor.batch == 0 || tensor.heads == 0 || tensor.tokens == 0 || tensor.dim == 0;
  require(empty || tensor.data != nullptr, "attention: ", name, " has no data for its [",
          tensor.batch, ", ", tensor.heads, ", ", tensor.tokens, ", ", tensor.dim, "] elements");
}

double distance(const Sequence& sequence, std::size_t i, std::size_t j) {
  return std::abs(static_cast<double>(sequence.offset) +
                  static_cast<double>(to_signed(i) - to_signed(j)));
}

}  // namespace heed
