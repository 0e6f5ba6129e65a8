// heed._core.attention, plan, merge_states, selfish_attention.
#include "heed/attention.h"

#include "arrays.h"
#include "by_reference.h"
#include "heed/reference.h"
#include "heed/state.h"
#include "heed/threads.h"
#include "module.h"
#include "options.h"

namespace heed::python {
namespace {

// q, k and v of a call, whichever way they are laid out.
struct Inputs {
  Array q, k, v;
  ConstTensorView query, key, value;
  bool ragged = false;

  Inputs(const py::object& query_, const py::object& key_, const py::object& value_, bool ragged_)
      : q(as_array(query_, "query")),
        k(as_array(key_, "key")),
        v(as_array(value_, "value")),
        ragged(ragged_) {
    const auto view = ragged ? ragged_tensor : input_tensor;
    query = view(q, "query");
    key = view(k, "key");
    value = view(v, "value");
  }

  // The caller's shape of an array with one [cols] row per query (cols 0: one number).
  std::vector<std::size_t> row_shape(std::size_t cols) const {
    std::vector<std::size_t> shape(q.shape.begin(), q.shape.begin() + q.ndim - 1);
    if (cols != 0) shape.push_back(cols);
    return shape;
  }
};

// Strides of a logsumexp [batch, heads, tokens], or [tokens, heads] in a ragged batch.
template <class View>
void lay_out_rows(View& view, const Inputs& in) {
  const auto heads = static_cast<std::ptrdiff_t>(in.query.heads),
             tokens = static_cast<std::ptrdiff_t>(in.query.tokens);
  view.batch_stride = in.ragged ? 0 : heads * tokens;
  view.head_stride = in.ragged ? 1 : tokens;
  view.token_stride = in.ragged ? heads : 1;
}

TensorView output_view(const Array& out, const Inputs& in) {
  return in.ragged ? ragged_output(out, "out") : output_tensor(out, "out");
}

// What the caller asked for, beside the output itself.
struct Wanted {
  bool lse = false;
  std::optional<std::string> scores;
};

py::object result_of(const py::object& out, const py::array& lse, const Wanted& wanted,
                     const std::optional<Scores>& scores) {
  if (!wanted.lse && !wanted.scores) return out;
  py::list all;
  all.append(out);
  if (wanted.lse) all.append(lse);
  if (wanted.scores) all.append(scores->array());
  return py::tuple(all);
}

// Room for the scores if they are wanted, of a problem that the operator has accepted.
std::optional<Scores> wanted_scores(const Wanted& wanted, const Inputs& in,
                                    const Options& options) {
  if (!wanted.scores) return {};
  return Scores(*wanted.scores, in.q.dtype, in.ragged ? 4 : in.q.ndim, in.query, in.key,
                options.attention);
}

// The kernels' rules hold for doubles too: refuses what they would.
void require_accepted(const Inputs& in, const Options& options) {
  ConstTensorView q = in.query, k = in.key, v = in.value;
  q.dtype = k.dtype = v.dtype = DType::f32;
  const Plan plan(q, k, v, options.attention, {.threads = 1, .progress = {}});
}

// float64: the reference computes, in blocks of rows.
py::object by_reference(Options& options, const Inputs& in, const py::object& out,
                        const Wanted& wanted) {
  require_accepted(in, options);
  const std::vector<std::size_t> shape = in.row_shape(in.value.dim);
  const py::object object = out.is_none() ? py::object(new_array(DType::f64, shape)) : out;
  const Array output = as_array(object, "out");
  require_same(output, DType::f64, shape, "out");
  const TensorView o = output_view(output, in);
  require_apart(in.query, in.key, in.value, o, {}, options.attention);
  py::array lse = new_array(DType::f64, in.row_shape(0));
  TensorView lse_rows = o;
  lse_rows.data = lse.mutable_data();
  lay_out_rows(lse_rows, in);
  std::optional<Scores> scores = wanted_scores(wanted, in, options);
  options.run([&] {
    reference::for_each_block(in.query, in.key, in.value, options.attention,
                              options.execution.progress, [&](const reference::Block& block) {
                                store_rows(block, block.steps.o, o);
                                store_rows(block, block.steps.lse, lse_rows);
                                if (scores) scores->take(block);
                              });
  });
  return result_of(object, lse, wanted, scores);
}

py::object by_kernels(Options& options, const Inputs& in, const py::object& out,
                      const Wanted& wanted) {
  const py::object object =
      out.is_none() ? py::object(new_array(in.q.dtype, in.row_shape(in.value.dim))) : out;
  const Array output = as_array(object, "out");
  const TensorView o = output_view(output, in);
  py::array lse;
  RowView lse_rows;
  if (wanted.lse) {
    lse = new_array(DType::f32, in.row_shape(0));
    lse_rows.data = static_cast<float*>(lse.mutable_data());
    lay_out_rows(lse_rows, in);
  }
  options.run([&] {
    attention(in.query, in.key, in.value, o, lse_rows, options.attention, options.execution);
  });
  std::optional<Scores> scores = wanted_scores(wanted, in, options);
  if (scores)
    options.run([&] {
      reference::for_each_block(in.query, in.key, in.value, options.attention,
                                options.execution.progress,
                                [&](const reference::Block& block) { scores->take(block); });
    });
  return result_of(object, lse, wanted, scores);
}

py::object attention_(const py::object& query, const py::object& key, const py::object& value,
                      const Keywords& keywords, bool return_lse,
                      std::optional<std::string> return_scores, const py::object& out) {
  Options options(keywords);
  const Inputs in(query, key, value, options.ragged());
  const Wanted wanted = {return_lse, std::move(return_scores)};
  if (wanted.scores) Scores::require_stage(*wanted.scores);
  return (in.q.dtype == DType::f64 ? by_reference : by_kernels)(options, in, out, wanted);
}

// GOMP_parallel of an OpenMP library, as GCC's compiled code calls it.
using GompParallel = void (*)(void (*work)(void*), void* data, unsigned threads, unsigned flags);

// The same on the threads of an OpenMP library that is loaded already: the address of its
// GOMP_parallel.
py::object attention_by_openmp(std::uintptr_t gomp_parallel, const py::object& query,
                               const py::object& key, const py::object& value,
                               const Keywords& keywords, const py::object& out) {
  const ScopedTeam team({[](void* library, std::size_t threads, void (*work)(void*), void* data) {
                           reinterpret_cast<GompParallel>(library)(
                               work, data, static_cast<unsigned>(threads), 0);
                         },
                         reinterpret_cast<void*>(gomp_parallel)});
  return attention_(query, key, value, keywords, false, {}, out);
}

py::dict plan_(const py::object& query, const py::object& key, const py::object& value,
               const Keywords& keywords) {
  const Options options(keywords);
  const Inputs in(query, key, value, options.ragged());
  const Plan plan(in.query, in.key, in.value, options.attention, options.execution);
  const PlanInfo& info = plan.info();
  py::dict result;
  result["kernel"] = info.kernel;
  result["target"] = info.target;
  result["tile_queries"] = info.tile_queries;
  result["tile_keys"] = info.tile_keys;
  result["key_splits"] = info.key_splits;
  result["tasks"] = info.tasks;
  result["threads"] = info.threads;
  result["workspace_bytes"] = info.workspace_bytes;
  result["flops"] = info.flops;
  result["bytes"] = info.bytes;
  return result;
}

// lse of one side of a merge: any array of float32 shaped like the rows of `o`.
RowView merge_rows(const Array& lse, const Array& o, const std::string& name) {
  if (lse.dtype != DType::f32)
    throw py::type_error(name + ": expected float32, got " + std::string(name_of(lse.dtype)));
  if (lse.ndim + 1 != o.ndim ||
      !std::equal(lse.shape.begin(), lse.shape.begin() + lse.ndim, o.shape.begin()))
    throw py::value_error(name + ": expected one number per row of its output");
  const auto stride = [&](std::size_t from_end) {
    return from_end < lse.ndim ? lse.strides[lse.ndim - 1 - from_end] : 0;
  };
  return {static_cast<float*>(lse.data), stride(2), stride(1), stride(0)};
}

py::tuple merge_states_(const py::object& a, const py::object& lse_a, const py::object& b,
                        const py::object& lse_b) {
  Array o_a = as_array(a, "a"), o_b = as_array(b, "b");
  const Array rows_a = as_array(lse_a, "lse_a"), rows_b = as_array(lse_b, "lse_b");
  const ConstTensorView view_a = input_tensor(o_a, "a"), view_b = input_tensor(o_b, "b");
  const std::span<const std::size_t> shape(o_a.shape.data(), o_a.ndim);
  py::array out = new_array(o_a.dtype, shape);
  py::array lse = new_array(DType::f32, shape.first(shape.size() - 1));
  merge_states(view_a, merge_rows(rows_a, o_a, "lse_a"), view_b, merge_rows(rows_b, o_b, "lse_b"),
               output_tensor(as_array(out, "out"), "out"),
               rows(static_cast<float*>(lse.mutable_data()), view_a.heads, view_a.tokens));
  return py::make_tuple(out, lse);
}

py::array selfish_attention_(const py::object& keys_, const py::object& query_,
                             std::size_t threads) {
  const FloatArray keys = float_array(keys_, "keys"), query = float_array(query_, "query");
  if (keys.ndim() != 3 || query.ndim() != 2)
    throw py::value_error("selfish_attention: keys has " + std::to_string(keys.ndim()) +
                          " axes and query " + std::to_string(query.ndim()) +
                          ", expected (B, N, D) and (B, D)");
  if (keys.shape(0) != query.shape(0) || keys.shape(2) != query.shape(1))
    throw py::value_error("selfish_attention: keys is (" + std::to_string(keys.shape(0)) + ", " +
                          std::to_string(keys.shape(1)) + ", " + std::to_string(keys.shape(2)) +
                          ") but query (" + std::to_string(query.shape(0)) + ", " +
                          std::to_string(query.shape(1)) + ")");
  py::array_t<float> out({query.shape(0), query.shape(1)});
  const float *k = keys.data(), *q = query.data();
  float* o = out.mutable_data();
  const auto size = [&](int axis) { return static_cast<std::size_t>(keys.shape(axis)); };
  const std::size_t batch = size(0), tokens = size(1), dim = size(2);
  Interruptible run;
  run([&] {
    selfish_attention(k, q, o, batch, tokens, dim,
                      {.threads = threads, .progress = run.progress()});
  });
  return out;
}

}  // namespace

void bind_attention(py::module_& m) {
  using object = py::object;
  py::class_<Keywords>(m, "Keywords")
      .def(py::init([](object attn_mask, object is_causal, object scale, object softcap,
                       object window, object causal_alignment, object query_offset,
                       object kv_lengths, object alibi_slopes, object sinks, object cu_seqlens_q,
                       object cu_seqlens_k, object score_mod, object threads) {
        return Keywords{attn_mask,        is_causal,    scale,      softcap,      window,
                        causal_alignment, query_offset, kv_lengths, alibi_slopes, sinks,
                        cu_seqlens_q,     cu_seqlens_k, score_mod,  threads};
      }));
  m.def("attention", &attention_);
  m.def("attention_by_openmp", &attention_by_openmp);
  m.def("plan", &plan_);
  m.def("merge_states", &merge_states_);
  m.def("selfish_attention", &selfish_attention_);
  m.def("supported_targets", &supported_targets);
  m.def("current_target", &current_target);
}

}  // namespace heed::python
