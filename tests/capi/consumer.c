/* Uses heed as a C11 program would; compiled as C, linked with libheed.so. Exit 0 when all holds.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "heed/c.h"

static int failures = 0;
#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("line %d: %s   (last error: %s)\n", __LINE__, #condition, heed_last_error()); \
      ++failures;                                                                          \
    }                                                                                      \
  } while (0)

/* Example D of the worked notes. */
static const float kQ[] = {1, 0, 1, 1, 2, 1};
static const float kK[] = {0, 1, 1, 0, 1, 1};
static const float kV[] = {1, 2, 0, 1, 1, 3};
static const float kOut[] = {0.598888f, 2.0f, 0.751745f, 2.255235f, 0.716005f, 2.291980f};

static int close_to(const float* a, const float* b, int n) {
  for (int i = 0; i < n; ++i)
    if (!(fabsf(a[i] - b[i]) <= 1e-6f)) return 0;
  return 1;
}

static heed_tensor matrix(const float* data, size_t tokens) {
  return heed_bhnd(data, HEED_F32, 1, 1, tokens, 2);
}

static void attention_reproduces_the_notes(void) {
  float out[6], lse[3];
  heed_tensor q = matrix(kQ, 3), k = matrix(kK, 3), v = matrix(kV, 3), o = matrix(out, 3);
  CHECK(heed_attention(&q, &k, &v, &o, lse, NULL) == HEED_OK);
  CHECK(close_to(out, kOut, 6));
  /* log(e^0 + 2 e^(1/sqrt 2)) */
  CHECK(fabs(lse[0] - log(1 + 2 * exp(sqrt(0.5)))) <= 1e-6);
}

static void a_plan_is_described_and_reused(void) {
  float out[6] = {0};
  heed_tensor q = matrix(kQ, 3), k = matrix(kK, 3), v = matrix(kV, 3), o = matrix(out, 3);
  heed_plan* plan = NULL;
  CHECK(heed_plan_create(&q, &k, &v, NULL, &plan) == HEED_OK);
  heed_plan_info info = {.struct_size = sizeof info};
  CHECK(heed_plan_get_info(plan, &info) == HEED_OK);
  CHECK(info.flops == 2.0 * (2 + 2) * 9);
  CHECK(strcmp(info.target, heed_current_target()) == 0);
  CHECK(strstr(heed_supported_targets(), info.target) != NULL);
  for (int run = 0; run < 2; ++run) {
    memset(out, 0, sizeof out);
    CHECK(heed_plan_run(plan, &q, &k, &v, &o, NULL, NULL) == HEED_OK);
    CHECK(close_to(out, kOut, 6));
  }
  heed_plan_free(plan);
  heed_plan_free(NULL);
}

static void add_constant(const heed_score_tile* tile, void* user) {
  for (size_t i = 0; i < tile->rows; ++i)
    for (size_t j = 0; j < tile->cols; ++j)
      if (tile->key + j == 0) tile->s[i * tile->stride + j] += *(const float*)user;
}

static void a_score_mod_is_called_with_its_user_data(void) {
  float out[6], by_bias[6], add = 5.0f;
  const float bias[] = {5.0f, 0.0f, 0.0f};
  heed_tensor q = matrix(kQ, 3), k = matrix(kK, 3), v = matrix(kV, 3), o = matrix(out, 3);
  heed_options options = HEED_OPTIONS_INIT;
  options.score_mod = add_constant;
  options.score_mod_user = &add;
  CHECK(heed_attention(&q, &k, &v, &o, NULL, &options) == HEED_OK);
  heed_options same = HEED_OPTIONS_INIT;
  same.bias = (heed_scores){bias, HEED_F32, {1, 1, 1, 3}, {0, 0, 0, 1}};
  o.data = by_bias;
  CHECK(heed_attention(&q, &k, &v, &o, NULL, &same) == HEED_OK);
  CHECK(close_to(out, by_bias, 6));
  CHECK(!close_to(out, kOut, 6));
}

static void halves_merge_into_the_whole(void) {
  float first[6], second[6], lse_first[3], lse_second[3], merged[6];
  heed_tensor q = matrix(kQ, 3), k1 = matrix(kK, 1), v1 = matrix(kV, 1);
  heed_tensor k2 = matrix(kK + 2, 2), v2 = matrix(kV + 2, 2);
  heed_tensor a = matrix(first, 3), b = matrix(second, 3), o = matrix(merged, 3);
  CHECK(heed_attention(&q, &k1, &v1, &a, lse_first, NULL) == HEED_OK);
  CHECK(heed_attention(&q, &k2, &v2, &b, lse_second, NULL) == HEED_OK);
  CHECK(heed_merge_states(&a, lse_first, &b, lse_second, &o, NULL) == HEED_OK);
  CHECK(close_to(merged, kOut, 6));
}

static void selfish_attention_reproduces_the_notes(void) {
  const float keys[] = {1, 0, 1, 1, 0, -1, -1, 1, 0, -1, 0, 1}, query[] = {2, 0, -1};
  const float expected[] = {0.983895f, 0.005887f, -0.753296f};
  float out[3];
  CHECK(heed_selfish_attention(keys, query, out, 1, 4, 3, 1) == HEED_OK);
  CHECK(close_to(out, expected, 3));
  CHECK(heed_selfish_attention(NULL, query, out, 1, 4, 3, 1) == HEED_INVALID);
}

/* With identity weights the layer is the attention of its input. */
static void a_layer_projects_attends_and_projects(void) {
  const float eye[] = {1, 0, 0, 1}, bias[] = {10, 20};
  float out[6], alone[6], biased[6];
  heed_layer_config config = {.struct_size = sizeof config, .d_model = 2, .query_heads = 1};
  config.w_q = config.w_k = config.w_o = heed_in_out(eye, HEED_F32, 2, 2);
  config.w_v = heed_out_in(eye, HEED_F32, 2, 2);
  heed_layer* layer = NULL;
  CHECK(heed_layer_create(&config, &layer) == HEED_OK);
  size_t count = 0;
  CHECK(heed_layer_parameter_count(layer, &count) == HEED_OK && count == 16);
  heed_sequence x = heed_bnd(kQ, HEED_F32, 1, 3, 2), z = heed_bnd(kK, HEED_F32, 1, 3, 2);
  heed_sequence o = heed_bnd(out, HEED_F32, 1, 3, 2);
  heed_tensor q = matrix(kQ, 3), k = matrix(kK, 3), same = matrix(alone, 3);
  heed_options causal = HEED_OPTIONS_INIT;
  causal.causal = HEED_CAUSAL_UPPER_LEFT;
  CHECK(heed_layer_self_attention(layer, &x, &o, &causal) == HEED_OK);
  CHECK(heed_attention(&q, &q, &q, &same, NULL, &causal) == HEED_OK);
  CHECK(close_to(out, alone, 6));
  CHECK(heed_layer_cross_attention(layer, &x, &z, &o, NULL) == HEED_OK);
  CHECK(heed_attention(&q, &k, &k, &same, NULL, NULL) == HEED_OK);
  CHECK(close_to(out, alone, 6));
  heed_layer_free(layer);
  heed_layer_free(NULL);

  config.b_o = (heed_vector){bias, HEED_F32, 2};
  CHECK(heed_layer_create(&config, &layer) == HEED_OK);
  o.data = biased;
  CHECK(heed_layer_cross_attention(layer, &x, &z, &o, NULL) == HEED_OK);
  for (int i = 0; i < 6; ++i) CHECK(fabsf(biased[i] - out[i] - bias[i % 2]) <= 1e-5f);
  x.dim = 3;
  CHECK(heed_layer_self_attention(layer, &x, &o, NULL) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "3") && strstr(heed_last_error(), "2"));
  heed_layer_free(layer);

  config.w_k = heed_in_out(eye, HEED_F32, 4, 1);
  CHECK(heed_layer_create(&config, &layer) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "4") && strstr(heed_last_error(), "2"));
}

/* At position 0 RoPE turns nothing; a norm of ones leaves rows of root-mean-square 1 as they are.
 */
static void a_layer_turns_and_norms_its_heads(void) {
  const float eye[] = {1, 0, 0, 1}, token[] = {1, -1};
  float out[2];
  heed_rotary rotary = {.struct_size = sizeof rotary, .base = 10000, .scaling = 1};
  heed_qk_norm norm = {.struct_size = sizeof norm, .epsilon = 1e-6};
  heed_layer_config config = {.struct_size = sizeof config, .d_model = 2, .query_heads = 1};
  config.w_q = config.w_k = config.w_v = config.w_o = heed_in_out(eye, HEED_F32, 2, 2);
  config.rotary = &rotary;
  config.qk_norm = &norm;
  heed_layer* layer = NULL;
  CHECK(heed_layer_create(&config, &layer) == HEED_OK);
  heed_sequence x = heed_bnd(token, HEED_F32, 1, 1, 2), o = heed_bnd(out, HEED_F32, 1, 1, 2);
  CHECK(heed_layer_self_attention(layer, &x, &o, NULL) == HEED_OK);
  CHECK(close_to(out, token, 2));
  heed_layer_free(layer);
  rotary.base = -1;
  CHECK(heed_layer_create(&config, &layer) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "-1"));
  rotary.struct_size = 0;
  CHECK(heed_layer_create(&config, &layer) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "heed_rotary"));
}

/* Token by token out of a cache is the last row of the whole, in every dtype. */
static void a_cache_grows_and_is_attended_to(void) {
  const heed_dtype dtypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_I8};
  for (int n = 0; n < 4; ++n) {
    heed_kv_cache_config config = {
        .struct_size = sizeof config, .kv_heads = 1, .key_dim = 2, .dtype = dtypes[n]};
    heed_kv_cache* cache = NULL;
    CHECK(heed_kv_cache_create(&config, &cache) == HEED_OK);
    float out[2], lse = 0;
    for (size_t t = 0; t < 3; ++t) {
      heed_tensor q = matrix(kQ + 2 * t, 1), o = matrix(out, 1);
      heed_tensor k = matrix(kK + 2 * t, 1), v = matrix(kV + 2 * t, 1);
      CHECK(heed_kv_cache_append(cache, &k, &v) == HEED_OK);
      CHECK(heed_kv_cache_attention(cache, &q, &o, &lse, NULL) == HEED_OK);
    }
    /* int8 stores rows of 0, 1, 2 and 3 within 3 / 254; the other types store them as they are. */
    for (int c = 0; c < 2; ++c) CHECK(fabsf(out[c] - kOut[4 + c]) <= (n == 3 ? 0.02f : 1e-6f));
    size_t tokens = 0;
    CHECK(heed_kv_cache_length(cache, &tokens) == HEED_OK && tokens == 3);
    heed_kv_view view = {.struct_size = sizeof view};
    CHECK(heed_kv_cache_get_view(cache, &view) == HEED_OK);
    CHECK(view.keys.tokens == 3 && view.keys.dtype == dtypes[n]);
    CHECK((view.key_scales != NULL) == (dtypes[n] == HEED_I8));
    if (n == 0) CHECK(((const float*)view.values.data)[view.values.token_stride * 2 + 1] == 3);
    if (n == 3) CHECK(((const int8_t*)view.values.data)[1] == 127);
    if (n == 3) CHECK(fabsf(view.value_scales[0] - 2.0f / 127) <= 1e-8f);
    CHECK(heed_kv_cache_truncate(cache, 4) == HEED_INVALID);
    CHECK(strstr(heed_last_error(), "4") && strstr(heed_last_error(), "3"));
    CHECK(heed_kv_cache_truncate(cache, 1) == HEED_OK);
    heed_tensor wide = heed_bhnd(kK, HEED_F32, 1, 1, 1, 3);
    CHECK(heed_kv_cache_append(cache, &wide, &wide) == HEED_INVALID);
    CHECK(heed_kv_cache_length(cache, &tokens) == HEED_OK && tokens == 1);
    heed_kv_cache_free(cache);
  }
  heed_kv_cache_free(NULL);
  heed_kv_cache_config none = {.struct_size = sizeof none, .key_dim = 2};
  heed_kv_cache* cache = NULL;
  CHECK(heed_kv_cache_create(&none, &cache) == HEED_INVALID && cache == NULL);
  CHECK(strstr(heed_last_error(), "kv_heads is 0"));
}

/* Two answers to one prompt: forked, grown apart, attended to alone and as a cascade. */
static void a_paged_cache_forks_and_cascades(void) {
  heed_paged_cache_config config = {
      .struct_size = sizeof config, .kv_heads = 1, .key_dim = 2, .pages = 3, .page_size = 2};
  heed_paged_cache* cache = NULL;
  CHECK(heed_paged_cache_create(&config, &cache) == HEED_OK);
  int64_t ids[2] = {-1, -1};
  CHECK(heed_paged_cache_add(cache, &ids[0]) == HEED_OK);
  heed_tensor k = matrix(kK, 2), v = matrix(kV, 2);
  CHECK(heed_paged_cache_append(cache, ids, 1, &k, &v) == HEED_OK);
  CHECK(heed_paged_cache_fork(cache, ids[0], NULL, &ids[1]) == HEED_OK);
  size_t tokens = 0;
  CHECK(heed_paged_cache_shared_prefix(cache, ids, 2, &tokens) == HEED_OK && tokens == 2);
  const float more[] = {1, 1, 0, 0}, values[] = {1, 3, 5, 5};
  heed_tensor k2 = heed_bhnd(more, HEED_F32, 2, 1, 1, 2),
              v2 = heed_bhnd(values, HEED_F32, 2, 1, 1, 2);
  CHECK(heed_paged_cache_append(cache, ids, 2, &k2, &v2) == HEED_OK);

  const float queries[] = {2, 1, 2, 1};
  float plain[4], cascade[4], lse[2];
  heed_tensor q = heed_bhnd(queries, HEED_F32, 2, 1, 1, 2);
  heed_tensor o = heed_bhnd(plain, HEED_F32, 2, 1, 1, 2);
  CHECK(heed_paged_cache_attention(cache, ids, 2, &q, &o, lse, NULL) == HEED_OK);
  CHECK(close_to(plain, kOut + 4, 2));
  o.data = cascade;
  CHECK(heed_paged_cache_cascade_attention(cache, ids, 2, &q, &o, lse, NULL) == HEED_OK);
  CHECK(close_to(plain, cascade, 4));

  const int32_t* table = NULL;
  size_t pages = 0;
  CHECK(heed_paged_cache_block_table(cache, ids[1], &table, &pages) == HEED_OK && pages == 2);
  heed_kv_view view = {.struct_size = sizeof view};
  CHECK(heed_paged_cache_get_view(cache, &view) == HEED_OK);
  CHECK(((const float*)view.values.data)[table[1] * view.values.batch_stride] == 5);

  k2.tokens = v2.tokens = 2; /* as many as a page more for both */
  k2.token_stride = v2.token_stride = 0;
  CHECK(heed_paged_cache_append(cache, ids, 2, &k2, &v2) == HEED_NO_MEMORY);
  CHECK(strstr(heed_last_error(), "2 pages are needed but 0 of 3 are free"));
  CHECK(heed_paged_cache_length(cache, ids[0], &tokens) == HEED_OK && tokens == 3);
  CHECK(heed_paged_cache_truncate(cache, ids[0], 1) == HEED_OK);
  CHECK(heed_paged_cache_remove(cache, ids[0]) == HEED_OK);
  CHECK(heed_paged_cache_remove(cache, ids[0]) == HEED_INVALID);
  heed_paged_cache_info info = {.struct_size = sizeof info};
  CHECK(heed_paged_cache_get_info(cache, &info) == HEED_OK);
  CHECK(info.pages == 3 && info.free_pages == 1 && info.page_size == 2 && info.sequences == 1);
  CHECK(heed_paged_cache_attention(cache, NULL, 2, &q, &o, NULL, NULL) == HEED_INVALID);
  heed_paged_cache_free(cache);
  heed_paged_cache_free(NULL);
}

static void errors_name_both_values(void) {
  float out[6];
  heed_tensor q = heed_bhnd(kQ, HEED_F32, 1, 1, 3, 2), k = heed_bhnd(kK, HEED_F32, 1, 1, 2, 3);
  heed_tensor v = heed_bhnd(kV, HEED_F32, 1, 1, 2, 2), o = matrix(out, 3);
  CHECK(heed_attention(&q, &k, &v, &o, NULL, NULL) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "2") && strstr(heed_last_error(), "3"));
  CHECK(heed_attention(NULL, &k, &v, &o, NULL, NULL) == HEED_INVALID);
  CHECK(strcmp(heed_last_error(), "q is NULL") == 0);
  heed_options options = {0};
  CHECK(heed_attention(&q, &k, &v, &o, NULL, &options) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "struct_size is 0"));
}

static void outputs_share_no_memory_with_what_is_read(void) {
  float memory[16] = {1, 2, 3, 4, 5, 6}, lse[3];
  heed_tensor q = matrix(memory, 3), k = matrix(kK, 3), v = matrix(kV, 3),
              o = matrix(memory + 5, 3);
  CHECK(heed_attention(&q, &k, &v, &o, NULL, NULL) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "out shares memory with query") && memory[5] == 6);
  o.data = memory + 6; /* just behind the queries */
  CHECK(heed_attention(&q, &k, &v, &o, lse, NULL) == HEED_OK);
  CHECK(heed_attention(&q, &k, &v, &o, memory + 11, NULL) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "lse shares memory with out"));
  CHECK(heed_selfish_attention(memory, memory + 4, memory + 3, 1, 2, 2, 1) == HEED_INVALID);
  CHECK(strstr(heed_last_error(), "out shares memory with keys"));
}

static void an_older_and_shorter_options_struct_is_accepted(void) {
  float out[6];
  heed_tensor q = matrix(kQ, 3), k = matrix(kK, 3), v = matrix(kV, 3), o = matrix(out, 3);
  heed_options options = HEED_OPTIONS_INIT;
  options.struct_size = offsetof(heed_options, causal);
  options.causal = (heed_causal)77; /* beyond what this caller says it has */
  CHECK(heed_attention(&q, &k, &v, &o, NULL, &options) == HEED_OK);
  CHECK(close_to(out, kOut, 6));
}

static int never(double done, void* user) {
  (void)done;
  (void)user;
  return 0;
}

static void a_run_can_be_cancelled(void) {
  enum { kTokens = 512 };
  static float x[kTokens * 2], out[kTokens * 2];
  heed_tensor q = matrix(x, kTokens), o = matrix(out, kTokens);
  heed_options options = HEED_OPTIONS_INIT;
  options.progress = never;
  CHECK(heed_attention(&q, &q, &q, &o, NULL, &options) == HEED_CANCELLED);
}

static void explaining_gives_the_trace_as_json(void) {
  char* json = NULL;
  CHECK(heed_explain_json("{\"tokens\": [\"a\"], \"q\": [[1]], \"k\": [[1]], \"v\": [[2]]}",
                          &json) == HEED_OK);
  CHECK(json != NULL && strstr(json, "\"nodes\"") != NULL);
  heed_string_free(json);
  CHECK(heed_explain_json("{", &json) == HEED_INVALID);
}

int main(void) {
  attention_reproduces_the_notes();
  a_plan_is_described_and_reused();
  a_score_mod_is_called_with_its_user_data();
  halves_merge_into_the_whole();
  selfish_attention_reproduces_the_notes();
  a_layer_projects_attends_and_projects();
  a_layer_turns_and_norms_its_heads();
  a_cache_grows_and_is_attended_to();
  a_paged_cache_forks_and_cascades();
  errors_name_both_values();
  outputs_share_no_memory_with_what_is_read();
  an_older_and_shorter_options_struct_is_accepted();
  a_run_can_be_cancelled();
  explaining_gives_the_trace_as_json();
  printf("heed %s from C: %s\n", heed_version(), failures == 0 ? "all held" : "FAILED");
  return failures != 0;
}
