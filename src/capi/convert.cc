#include "capi/convert.h"

namespace heed::capi {
namespace {

// A fixed buffer, so that reporting cannot fail for want of memory.
thread_local char last_error[1024] = "";

ScoreView score_view(const heed_scores& given, const char* what) {
  ScoreView view;
  if (given.data == nullptr) return view;
  view.data = given.data;
  view.dtype = dtype_from(given.dtype, what);
  std::copy_n(given.sizes, 4, view.sizes.begin());
  std::copy_n(given.strides, 4, view.strides.begin());
  return view;
}

std::optional<Causal> causal_from(heed_causal given) {
  switch (given) {
    case HEED_CAUSAL_NONE: return {};
    case HEED_CAUSAL_UPPER_LEFT: return Causal::upper_left;
    case HEED_CAUSAL_LOWER_RIGHT: return Causal::lower_right;
  }
  throw Error("causal is " + std::to_string(static_cast<int>(given)) +
              ", none of the values of heed_causal");
}

}  // namespace

heed_status report(heed_status status, const char* text) noexcept {
  const std::size_t length = std::min(std::strlen(text), sizeof(last_error) - 1);
  std::memcpy(last_error, text, length);
  last_error[length] = '\0';
  return status;
}

DType dtype_from(heed_dtype given, const char* what) {
  switch (given) {
    case HEED_F32: return DType::f32;
    case HEED_F16: return DType::f16;
    case HEED_BF16: return DType::bf16;
    case HEED_F64: return DType::f64;
    case HEED_BOOL: return DType::boolean;
    case HEED_I8: return DType::i8;
  }
  throw Error(std::string(what) + ": dtype " + std::to_string(static_cast<int>(given)) +
              " is none of HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_BOOL, HEED_I8");
}

TensorView tensor(const heed_tensor* given, const char* what) {
  const heed_tensor& t = not_null(given, what);
  return {t.data,         dtype_from(t.dtype, what),
          t.batch,        t.heads,
          t.tokens,       t.dim,
          t.batch_stride, t.head_stride,
          t.token_stride};
}

RowView row_view(float* data, const heed_tensor& like) {
  return data == nullptr ? RowView{} : rows(data, like.heads, like.tokens);
}

Options::Options(const heed_options* given) : given_(versioned(given, "heed_options")) {
  const heed_options& g = given_;
  if (g.given & HEED_SCALE) attention.scale = g.scale;
  if (g.given & HEED_SOFTCAP) attention.softcap = g.softcap;
  if (g.given & HEED_QUERY_OFFSET) attention.query_offset = g.query_offset;
  if (g.given & HEED_WINDOW_LEFT) attention.window_left = g.window_left;
  if (g.given & HEED_WINDOW_RIGHT) attention.window_right = g.window_right;
  attention.causal = causal_from(g.causal);
  attention.mask = score_view(g.mask, "mask");
  attention.bias = score_view(g.bias, "bias");
  attention.query_offsets = array(g.query_offsets, g.query_offsets_count, "query_offsets");
  attention.key_lengths = array(g.key_lengths, g.key_lengths_count, "key_lengths");
  attention.alibi_slopes = array(g.alibi_slopes, g.alibi_slopes_count, "alibi_slopes");
  attention.sinks = array(g.sinks, g.sinks_count, "sinks");
  attention.cu_seqlens_q = array(g.cu_seqlens_q, g.cu_seqlens_q_count, "cu_seqlens_q");
  attention.cu_seqlens_k = array(g.cu_seqlens_k, g.cu_seqlens_k_count, "cu_seqlens_k");
  if (g.score_mod != nullptr) {
    attention.score_mod.user = &given_;
    attention.score_mod.f32 = [](const ScoreTile<float>& t, void* user) {
      const auto& options = *static_cast<const heed_options*>(user);
      const heed_score_tile tile = {t.s, t.rows, t.cols, t.stride, t.batch, t.head, t.query, t.key};
      options.score_mod(&tile, options.score_mod_user);
    };
  }
  execution.threads = g.threads;
  if (g.progress != nullptr) {
    execution.progress.user = &given_;
    execution.progress.call = [](double done, void* user) {
      const auto& options = *static_cast<const heed_options*>(user);
      return options.progress(done, options.progress_user) != 0;
    };
  }
}

}  // namespace heed::capi

extern "C" const char* heed_last_error(void) {
  return heed::capi::last_error;
}
