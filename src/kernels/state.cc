#include "heed/state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/checks.h"
#include "base/element.h"
#include "base/overlap.h"
#include "kernels/state_merge.h"

namespace heed {
namespace {

using kernels::is_empty;
using kernels::weigh;
using kernels::Weights;

float natural_exp(float x) {
  return std::exp(x);
}

void require_same(ConstTensorView a, std::string_view name, ConstTensorView b) {
  require(a.dtype == b.dtype, "merge_states: a has dtype ", name_of(a.dtype), " but ", name,
          " has ", name_of(b.dtype));
  require(a.batch == b.batch, "merge_states: a has batch ", a.batch, " but ", name, " has ",
          b.batch);
  require(a.heads == b.heads, "merge_states: a has ", a.heads, " heads but ", name, " has ",
          b.heads);
  require(a.tokens == b.tokens, "merge_states: a has ", a.tokens, " tokens but ", name, " has ",
          b.tokens);
  require(a.dim == b.dim, "merge_states: a has head_dim ", a.dim, " but ", name, " has ", b.dim);
}

// Rows are read before they are written, one after the other: what is written may be what is read,
// row for row, and otherwise lies apart from it.
void require_rows_apart(ConstTensorView a, RowView lse_a, ConstTensorView b, RowView lse_b,
                        TensorView out, RowView lse) {
  const auto unless_same = [](const Region& written, const Region& read) {
    return same_elements(written, read) ? Region{} : read;
  };
  const Region o = region(out), rows = region(lse, out);
  require_apart("merge_states", {{"out", o}, {"lse", rows}}, {});
  require_apart("merge_states", {{"out", o}},
                {{"a", unless_same(o, region(a))},
                 {"b", unless_same(o, region(b))},
                 {"lse_a", region(lse_a, a)},
                 {"lse_b", region(lse_b, b)}});
  require_apart("merge_states", {{"lse", rows}},
                {{"a", region(a)},
                 {"b", region(b)},
                 {"lse_a", unless_same(rows, region(lse_a, a))},
                 {"lse_b", unless_same(rows, region(lse_b, b))}});
}

std::ptrdiff_t place(std::ptrdiff_t batch_stride, std::ptrdiff_t head_stride,
                     std::ptrdiff_t token_stride, std::size_t b, std::size_t h, std::size_t i) {
  return static_cast<std::ptrdiff_t>(b) * batch_stride +
         static_cast<std::ptrdiff_t>(h) * head_stride +
         static_cast<std::ptrdiff_t>(i) * token_stride;
}

template <class View>
std::ptrdiff_t place(const View& view, std::size_t b, std::size_t h, std::size_t i) {
  return place(view.batch_stride, view.head_stride, view.token_stride, b, h, i);
}

// One row; returns its logsumexp. `out` may be `a` or `b`.
template <class T>
float merge_row(const T* a, float lse_a, const T* b, float lse_b, T* out, std::size_t dim) {
  if (is_empty(lse_a) && is_empty(lse_b)) {
    for (std::size_t c = 0; c < dim; ++c) assign(out[c], 0.0f);
    return lse_a;
  }
  if (is_empty(lse_a) || is_empty(lse_b)) {
    std::copy_n(is_empty(lse_a) ? b : a, dim, out);  // the unit of the algebra: to the bit
    return is_empty(lse_a) ? lse_b : lse_a;
  }
  const Weights w = weigh(lse_a, lse_b, natural_exp);
  const float l = w.a + w.b;
  for (std::size_t c = 0; c < dim; ++c)
    assign(out[c], (as_float(a[c]) * w.a + as_float(b[c]) * w.b) / l);
  return w.m + std::log(l);
}

template <class T>
void merge_all(ConstTensorView a, RowView lse_a, ConstTensorView b, RowView lse_b, TensorView out,
               RowView lse) {
  for (std::size_t n = 0; n < a.batch; ++n)
    for (std::size_t h = 0; h < a.heads; ++h)
      for (std::size_t i = 0; i < a.tokens; ++i) {
        const float merged = merge_row(
            static_cast<const T*>(a.data) + place(a, n, h, i), lse_a.data[place(lse_a, n, h, i)],
            static_cast<const T*>(b.data) + place(b, n, h, i), lse_b.data[place(lse_b, n, h, i)],
            static_cast<T*>(out.data) + place(out, n, h, i), a.dim);
        if (lse) lse.data[place(lse, n, h, i)] = merged;
      }
}

}  // namespace

void make_empty(AttentionState& state) {
  std::fill(state.o.begin(), state.o.end(), 0.0f);
  state.m = -std::numeric_limits<float>::infinity();
  state.l = 0.0f;
}

void merge(AttentionState& into, const AttentionState& other) {
  require(into.o.size() == other.o.size(), "merge: one state has ", into.o.size(),
          " values but the other has ", other.o.size());
  kernels::merge_as(into, other, natural_exp);
}

float normalise(AttentionState& state) {
  if (is_empty(state.m)) {
    make_empty(state);
    return state.m;
  }
  for (float& o : state.o) o /= state.l;
  if (state.l == 0.0f) return std::numeric_limits<float>::quiet_NaN();
  return state.m + std::log(state.l);
}

void merge_states(ConstTensorView a, RowView lse_a, ConstTensorView b, RowView lse_b,
                  TensorView out, RowView lse) {
  require_same(a, "b", b);
  require_same(a, "out", out);
  const bool empty = a.batch == 0 || a.heads == 0 || a.tokens == 0;
  if (empty) return;
  require(static_cast<bool>(lse_a), "merge_states: a has ", a.tokens, " tokens but lse_a no data");
  require(static_cast<bool>(lse_b), "merge_states: b has ", b.tokens, " tokens but lse_b no data");
  for (const auto& [name, data] : {std::pair{"a", a.data}, {"b", b.data}, {"out", out.data}})
    require(data != nullptr || a.dim == 0, "merge_states: ", name, " has ", a.tokens,
            " tokens but no data");
  require_rows_apart(a, lse_a, b, lse_b, out, lse);
  switch (a.dtype) {
    case DType::f32: return merge_all<float>(a, lse_a, b, lse_b, out, lse);
    case DType::f16: return merge_all<f16>(a, lse_a, b, lse_b, out, lse);
    case DType::bf16: return merge_all<bf16>(a, lse_a, b, lse_b, out, lse);
    default: fail("merge_states: a has dtype ", name_of(a.dtype), ", expected f32, f16 or bf16");
  }
}

}  // namespace heed
