// The operator through C: attention, plans, states, selfish attention, version and targets.
#include "capi/convert.h"
#include "heed/state.h"
#include "heed/version.h"

using heed::capi::guarded;
using heed::capi::not_null;
using heed::capi::Options;
using heed::capi::row_view;
using heed::capi::tensor;

// Keeps the options it was made with, because the plan's progress callback points into them.
struct heed_plan {
  Options options;
  heed::Plan plan;

  heed_plan(const heed_tensor* q, const heed_tensor* k, const heed_tensor* v,
            const heed_options* given)
      : options(given),
        plan(tensor(q, "q"), tensor(k, "k"), tensor(v, "v"), options.attention, options.execution) {
  }
};

namespace {

// Text that is asked for once and then stays, for functions that return const char*.
const char* lasting(std::string (*make)()) {
  try {
    thread_local std::string text;
    text = make();
    return text.c_str();
  } catch (...) {
    return "";
  }
}

heed_tensor contiguous(const void* data, heed_dtype dtype, size_t batch, size_t heads,
                       size_t tokens, size_t dim, size_t head_stride, size_t token_stride) {
  return {const_cast<void*>(data),
          dtype,
          batch,
          heads,
          tokens,
          dim,
          static_cast<ptrdiff_t>(heads * tokens * dim),
          static_cast<ptrdiff_t>(head_stride),
          static_cast<ptrdiff_t>(token_stride)};
}

}  // namespace

extern "C" {

const char* heed_version(void) {
  return HEED_VERSION;
}

const char* heed_current_target(void) {
  return lasting([] { return heed::current_target(); });
}

const char* heed_supported_targets(void) {
  return lasting([] {
    std::string all;
    for (const std::string& name : heed::supported_targets()) {
      if (!all.empty()) all += ',';
      all += name;
    }
    return all;
  });
}

heed_tensor heed_bhnd(const void* data, heed_dtype dtype, size_t batch, size_t heads, size_t tokens,
                      size_t dim) {
  return contiguous(data, dtype, batch, heads, tokens, dim, tokens * dim, dim);
}

heed_tensor heed_bnhd(const void* data, heed_dtype dtype, size_t batch, size_t tokens, size_t heads,
                      size_t dim) {
  return contiguous(data, dtype, batch, heads, tokens, dim, dim, heads * dim);
}

heed_status heed_attention(const heed_tensor* q, const heed_tensor* k, const heed_tensor* v,
                           const heed_tensor* out, float* lse, const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    const heed::TensorView o = tensor(out, "out");
    heed::attention(tensor(q, "q"), tensor(k, "k"), tensor(v, "v"), o, row_view(lse, *out),
                    converted.attention, converted.execution);
  });
}

heed_status heed_plan_create(const heed_tensor* q, const heed_tensor* k, const heed_tensor* v,
                             const heed_options* options, heed_plan** plan) {
  return guarded([&] { not_null(plan, "plan") = new heed_plan(q, k, v, options); });
}

heed_status heed_plan_get_info(const heed_plan* plan, heed_plan_info* info) {
  return guarded([&] {
    const heed::PlanInfo& from = not_null(plan, "plan").plan.info();
    heed_plan_info all = heed::capi::versioned(&not_null(info, "info"), "heed_plan_info");
    all.kernel = from.kernel.c_str();
    all.target = from.target.c_str();
    all.tile_queries = from.tile_queries;
    all.tile_keys = from.tile_keys;
    all.key_splits = from.key_splits;
    all.tasks = from.tasks;
    all.threads = from.threads;
    all.workspace_bytes = from.workspace_bytes;
    all.flops = from.flops;
    all.bytes = from.bytes;
    heed::capi::fill(info, all);
  });
}

heed_status heed_plan_run(heed_plan* plan, const heed_tensor* q, const heed_tensor* k,
                          const heed_tensor* v, const heed_tensor* out, float* lse,
                          const heed_options* options) {
  return guarded([&] {
    const Options converted(options);
    const heed::TensorView o = tensor(out, "out");
    not_null(plan, "plan")
        .plan.run(tensor(q, "q"), tensor(k, "k"), tensor(v, "v"), o, row_view(lse, *out),
                  converted.attention);
  });
}

void heed_plan_free(heed_plan* plan) {
  delete plan;
}

heed_status heed_merge_states(const heed_tensor* a, const float* lse_a, const heed_tensor* b,
                              const float* lse_b, const heed_tensor* out, float* lse) {
  return guarded([&] {
    const heed::TensorView o = tensor(out, "out"), o_a = tensor(a, "a"), o_b = tensor(b, "b");
    const auto readable = [](const float* data, const heed_tensor& like, const char* what) {
      return row_view(const_cast<float*>(&not_null(data, what)), like);
    };
    heed::merge_states(o_a, readable(lse_a, *a, "lse_a"), o_b, readable(lse_b, *b, "lse_b"), o,
                       row_view(lse, *out));
  });
}

heed_status heed_selfish_attention(const float* keys, const float* query, float* out, size_t batch,
                                   size_t tokens, size_t dim, size_t threads) {
  return guarded([&] {
    heed::Execution execution;
    execution.threads = threads;
    if (batch != 0) {
      if (tokens != 0) not_null(keys, "keys");
      not_null(query, "query");
      not_null(out, "out");
    }
    heed::selfish_attention(keys, query, out, batch, tokens, dim, execution);
  });
}

}  // extern "C"
