/* heed for C11 and for every language that can call C.
 *
 * Conventions, the same for every function here:
 * - A function that can fail returns heed_status; HEED_OK is 0. On failure heed_last_error() gives
 * a sentence naming both offending values; it belongs to the calling thread and lasts until that
 *   thread's next call. Outputs are then untouched, unless the status is HEED_CANCELLED.
 * - No exception, abort or print crosses this line.
 * - A struct whose first field is struct_size is versioned: set it to sizeof(the struct), or start
 *   from its _INIT macro. Fields added later are then absent for programs compiled earlier.
 * - Absence is a bit that is not set in `given`, a null pointer or a count of 0, never a magic
 * number.
 * - Handles are opaque, made by *_create and released by *_free, which accepts NULL. Functions may
 * be called from any thread; one handle is used by one thread at a time.
 * - Sizes are in elements, strides too. Arrays are read during the call only, unless said
 * otherwise.
 *
 * The operator itself (order of steps, masks, offsets, empty rows, NaN) is defined in
 * heed/options.h.
 */
#ifndef HEED_C_H_
#define HEED_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define HEED_C_API __declspec(dllexport)
#else
#define HEED_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heed_status {
  HEED_OK = 0,
  HEED_INVALID = 1,   /* wrong shape, type, option or file: the message says which */
  HEED_CANCELLED = 2, /* the progress callback said stop */
  HEED_NO_MEMORY = 3, /* or a paged cache is full: the message says how many pages were needed */
  HEED_INTERNAL = 4   /* a bug in heed: please report the message */
} heed_status;

/* The sentence that goes with this thread's last failure; "" if there was none. */
HEED_C_API const char* heed_last_error(void);

/* "0.1.0" */
HEED_C_API const char* heed_version(void);
/* The instruction set in use ("AVX2"), and all that this machine can run, best first, as
 * "AVX2,SSE4". */
HEED_C_API const char* heed_current_target(void);
HEED_C_API const char* heed_supported_targets(void);

/* ---- Tensors --------------------------------------------------------------------------------- */

typedef enum heed_dtype {
  HEED_F32 = 0,
  HEED_F16 = 1,
  HEED_BF16 = 2,
  HEED_F64 = 3,
  HEED_BOOL = 4, /* one byte, 0 or 1 */
  HEED_I8 = 5    /* stored by caches only: integers times one scale per row */
} heed_dtype;

/* [batch, heads, tokens, dim], dim contiguous, the other strides any. Inputs are never written. */
typedef struct heed_tensor {
  void* data;
  heed_dtype dtype;
  size_t batch, heads, tokens, dim;
  ptrdiff_t batch_stride, head_stride, token_stride;
} heed_tensor;

/* Contiguous [batch, heads, tokens, dim], and [batch, tokens, heads, dim]. */
HEED_C_API heed_tensor heed_bhnd(const void* data, heed_dtype dtype, size_t batch, size_t heads,
                                 size_t tokens, size_t dim);
HEED_C_API heed_tensor heed_bnhd(const void* data, heed_dtype dtype, size_t batch, size_t tokens,
                                 size_t heads, size_t dim);

/* [batch, heads, queries, keys]: a mask (HEED_BOOL, true = attend) or a bias. A size of 1
 * broadcasts; data == NULL means none. */
typedef struct heed_scores {
  const void* data;
  heed_dtype dtype;
  size_t sizes[4];
  ptrdiff_t strides[4];
} heed_scores;

/* ---- Options --------------------------------------------------------------------------------- */

typedef enum heed_causal {
  HEED_CAUSAL_NONE = 0,
  HEED_CAUSAL_UPPER_LEFT = 1, /* query 0 stands at key 0 */
  HEED_CAUSAL_LOWER_RIGHT = 2 /* the last query stands at the last key */
} heed_causal;

/* A tile of scores of one head, to be changed in place: s[i * stride + j] is the score of query
 * query + i and key key + j. */
typedef struct heed_score_tile {
  float* s;
  size_t rows, cols, stride;
  size_t batch, head, query, key;
} heed_score_tile;
typedef void (*heed_score_mod)(const heed_score_tile* tile, void* user);

/* Told how much is done (0..1), one thread at a time; returning 0 cancels the run. */
typedef int (*heed_progress)(double done, void* user);

/* Bits of heed_options.given. */
enum {
  HEED_SCALE = 1,
  HEED_SOFTCAP = 2,
  HEED_QUERY_OFFSET = 4,
  HEED_WINDOW_LEFT = 8,
  HEED_WINDOW_RIGHT = 16
};

typedef struct heed_options {
  size_t struct_size;
  uint64_t given; /* which of the next five fields count */
  float scale;    /* default 1 / sqrt(d_k) */
  float softcap;
  int64_t query_offset;
  int64_t window_left, window_right;
  heed_causal causal;
  heed_scores mask, bias;
  const int64_t* query_offsets; /* one per sequence */
  size_t query_offsets_count;
  const int64_t* key_lengths; /* one per sequence */
  size_t key_lengths_count;
  const float* alibi_slopes; /* one per query head */
  size_t alibi_slopes_count;
  const float* sinks; /* one per query head */
  size_t sinks_count;
  const int64_t* cu_seqlens_q; /* ragged batch: both or neither */
  size_t cu_seqlens_q_count;
  const int64_t* cu_seqlens_k;
  size_t cu_seqlens_k_count;
  heed_score_mod score_mod;
  void* score_mod_user;
  size_t threads; /* at most this many; 0: all. Never changes a bit of the result */
  heed_progress progress;
  void* progress_user;
} heed_options;

#ifdef __cplusplus
#define HEED_OPTIONS_INIT \
  { sizeof(heed_options) }
#else
#define HEED_OPTIONS_INIT \
  { .struct_size = sizeof(heed_options) }
#endif

/* ---- Attention ------------------------------------------------------------------------------- */

/* q [batch, query_heads, n_q, d_k], k [batch, kv_heads, n_k, d_k], v [batch, kv_heads, n_k, d_v] to
 * out [batch, query_heads, n_q, d_v]. lse, if not NULL, gets [batch, query_heads, n_q], contiguous.
 * Neither may share memory with what is read. options may be NULL. */
HEED_C_API heed_status heed_attention(const heed_tensor* q, const heed_tensor* k,
                                      const heed_tensor* v, const heed_tensor* out, float* lse,
                                      const heed_options* options);

typedef struct heed_plan heed_plan;

typedef struct heed_plan_info {
  size_t struct_size;
  const char* kernel; /* "prefill" or "decode"; lives as long as the plan */
  const char* target;
  size_t tile_queries, tile_keys, key_splits, tasks, threads, workspace_bytes;
  double flops, bytes;
} heed_plan_info;

/* A run prepared once for a shape, to be repeated without allocating. */
HEED_C_API heed_status heed_plan_create(const heed_tensor* q, const heed_tensor* k,
                                        const heed_tensor* v, const heed_options* options,
                                        heed_plan** plan);
HEED_C_API heed_status heed_plan_get_info(const heed_plan* plan, heed_plan_info* info);
HEED_C_API heed_status heed_plan_run(heed_plan* plan, const heed_tensor* q, const heed_tensor* k,
                                     const heed_tensor* v, const heed_tensor* out, float* lse,
                                     const heed_options* options);
HEED_C_API void heed_plan_free(heed_plan* plan);

/* Two outputs over disjoint keys, with their lse (contiguous [batch, heads, tokens]), become the
 * output over all of the keys. out may be a or b; lse may be NULL. */
HEED_C_API heed_status heed_merge_states(const heed_tensor* a, const float* lse_a,
                                         const heed_tensor* b, const float* lse_b,
                                         const heed_tensor* out, float* lse);

/* out_b = sum_n softmax_n(keys_bn . query_b) keys_bn: keys [batch, tokens, dim], query and out
 * [batch, dim], contiguous floats, unscaled. */
HEED_C_API heed_status heed_selfish_attention(const float* keys, const float* query, float* out,
                                              size_t batch, size_t tokens, size_t dim,
                                              size_t threads);

/* ---- The multi-head layer -------------------------------------------------------------------- */

/* A weight that maps `in` numbers to `out` numbers, f32, f16 or bf16, in either order. */
typedef struct heed_matrix {
  const void* data;
  heed_dtype dtype;
  size_t in, out;
  ptrdiff_t in_stride, out_stride;
} heed_matrix;

/* Contiguous [in, out], as in x W, and contiguous [out, in], as PyTorch's Linear keeps it. */
HEED_C_API heed_matrix heed_in_out(const void* data, heed_dtype dtype, size_t in, size_t out);
HEED_C_API heed_matrix heed_out_in(const void* data, heed_dtype dtype, size_t out, size_t in);

/* A contiguous vector; data == NULL means none. */
typedef struct heed_vector {
  const void* data;
  heed_dtype dtype;
  size_t size;
} heed_vector;

/* Token vectors [batch, tokens, dim], dim contiguous. */
typedef struct heed_sequence {
  void* data;
  heed_dtype dtype;
  size_t batch, tokens, dim;
  ptrdiff_t batch_stride, token_stride;
} heed_sequence;

/* Contiguous [batch, tokens, dim]. */
HEED_C_API heed_sequence heed_bnd(const void* data, heed_dtype dtype, size_t batch, size_t tokens,
                                  size_t dim);

typedef enum heed_rotary_pairs {
  HEED_HALF_SPLIT = 0, /* c turns with c + dims / 2 */
  HEED_INTERLEAVED = 1 /* 2c turns with 2c + 1 */
} heed_rotary_pairs;

/* RoPE: pair c of a token at p turns by p / scaling * base^(-2c / dims). */
typedef struct heed_rotary {
  size_t struct_size;
  double base, scaling; /* > 0; usually 10000 and 1 */
  heed_rotary_pairs pairs;
  size_t dims;               /* leading numbers of a row that turn, even; 0: all */
  const double* frequencies; /* dims / 2 of them, in place of base^(-2c / dims); NULL: none */
  size_t frequencies_count;
} heed_rotary;

/* RMS norm of each head's rows of queries and keys, before RoPE. */
typedef struct heed_qk_norm {
  size_t struct_size;
  heed_vector query, key; /* weights [key_dim]; none: 1 */
  double epsilon;         /* >= 0 */
} heed_qk_norm;

/* Everything of a layer; read by heed_layer_create only. Counts of 0 stand for the default. */
typedef struct heed_layer_config {
  size_t struct_size;
  size_t d_model;
  size_t d_context;   /* default d_model */
  size_t query_heads; /* T */
  size_t kv_heads;    /* divides query_heads; default query_heads */
  size_t key_dim;     /* m; default d_model / query_heads */
  size_t value_dim;   /* l; default key_dim */
  heed_matrix w_q;    /* d_model -> T m */
  heed_matrix w_k;    /* d_context -> kv_heads m */
  heed_matrix w_v;    /* d_context -> kv_heads l */
  heed_matrix w_o;    /* T l -> d_model */
  heed_vector b_q, b_k, b_v, b_o;
  const heed_rotary* rotary;   /* NULL: none */
  const heed_qk_norm* qk_norm; /* NULL: none */
} heed_layer_config;

/* Immutable once made: any number of threads may run one layer. The weights are copied. */
typedef struct heed_layer heed_layer;

HEED_C_API heed_status heed_layer_create(const heed_layer_config* config, heed_layer** layer);
HEED_C_API heed_status heed_layer_parameter_count(const heed_layer* layer, size_t* count);
/* x, out [batch, n, d_model]; out may be x itself. */
HEED_C_API heed_status heed_layer_self_attention(const heed_layer* layer, const heed_sequence* x,
                                                 const heed_sequence* out,
                                                 const heed_options* options);
/* Queries from y [batch, n_q, d_model], keys and values from z [batch, n_k, d_context]. */
HEED_C_API heed_status heed_layer_cross_attention(const heed_layer* layer, const heed_sequence* y,
                                                  const heed_sequence* z, const heed_sequence* out,
                                                  const heed_options* options);
HEED_C_API void heed_layer_free(heed_layer* layer);

/* ---- Caches ---------------------------------------------------------------------------------- */

/* Keys and values kept from one step of generation to the next; what heed/kv_cache.h says holds
 * here too. Any number of threads may read a cache while none changes it. A call that fails leaves
 * the cache as it was. */

/* Where a cache keeps its rows, valid until the next call that changes it: [batch, kv_heads,
 * length, dim], or [pages, kv_heads, page_size, dim] of a paged one. HEED_I8: the row of token t,
 * head h, batch row or page b stands for its integers times
 * key_scales[b * scale_batch_stride + h * scale_head_stride + t]; otherwise the scales are NULL. */
typedef struct heed_kv_view {
  size_t struct_size;
  heed_tensor keys, values;
  const float *key_scales, *value_scales;
  ptrdiff_t scale_batch_stride, scale_head_stride;
} heed_kv_view;

/* Sequences of one length, in memory that grows. */
typedef struct heed_kv_cache heed_kv_cache;

typedef struct heed_kv_cache_config {
  size_t struct_size;
  size_t batch; /* 0: 1 */
  size_t kv_heads, key_dim;
  size_t value_dim; /* 0: key_dim */
  heed_dtype dtype; /* HEED_F32, HEED_F16, HEED_BF16 or HEED_I8 */
  size_t capacity;  /* tokens to make room for at once */
} heed_kv_cache_config;

HEED_C_API heed_status heed_kv_cache_create(const heed_kv_cache_config* config,
                                            heed_kv_cache** cache);
HEED_C_API void heed_kv_cache_free(heed_kv_cache* cache);
HEED_C_API heed_status heed_kv_cache_length(const heed_kv_cache* cache, size_t* tokens);
HEED_C_API heed_status heed_kv_cache_get_view(const heed_kv_cache* cache, heed_kv_view* view);
/* The next n tokens: k [batch, kv_heads, n, key_dim] and v likewise, converted to the cache's
 * dtype. Views of this cache are refused. */
HEED_C_API heed_status heed_kv_cache_append(heed_kv_cache* cache, const heed_tensor* k,
                                            const heed_tensor* v);
/* Forgets all tokens but the first `length`. */
HEED_C_API heed_status heed_kv_cache_truncate(heed_kv_cache* cache, size_t length);
/* q [batch, query_heads, n_q, key_dim] over all that is cached, read in place. */
HEED_C_API heed_status heed_kv_cache_attention(const heed_kv_cache* cache, const heed_tensor* q,
                                               const heed_tensor* out, float* lse,
                                               const heed_options* options);

/* Sequences that come, grow, fork and go, in pages of one pool. */
typedef struct heed_paged_cache heed_paged_cache;

typedef struct heed_paged_cache_config {
  size_t struct_size;
  size_t kv_heads, key_dim;
  size_t value_dim; /* 0: key_dim */
  heed_dtype dtype; /* HEED_F32, HEED_F16, HEED_BF16 or HEED_I8 */
  size_t pages;     /* all there will ever be */
  size_t page_size; /* tokens of one page; 0: 16 */
} heed_paged_cache_config;

typedef struct heed_paged_cache_info {
  size_t struct_size;
  size_t pages, free_pages, page_size, sequences;
} heed_paged_cache_info;

HEED_C_API heed_status heed_paged_cache_create(const heed_paged_cache_config* config,
                                               heed_paged_cache** cache);
HEED_C_API void heed_paged_cache_free(heed_paged_cache* cache);
HEED_C_API heed_status heed_paged_cache_get_info(const heed_paged_cache* cache,
                                                 heed_paged_cache_info* info);
HEED_C_API heed_status heed_paged_cache_get_view(const heed_paged_cache* cache, heed_kv_view* view);
/* A new, empty sequence; its number is not used again after it is removed. */
HEED_C_API heed_status heed_paged_cache_add(heed_paged_cache* cache, int64_t* sequence);
/* A new sequence that begins as another: its first *length tokens, or all if length is NULL. Pages
 * are shared until one of the two writes into them. */
HEED_C_API heed_status heed_paged_cache_fork(heed_paged_cache* cache, int64_t sequence,
                                             const size_t* length, int64_t* forked);
HEED_C_API heed_status heed_paged_cache_remove(heed_paged_cache* cache, int64_t sequence);
HEED_C_API heed_status heed_paged_cache_truncate(heed_paged_cache* cache, int64_t sequence,
                                                 size_t length);
HEED_C_API heed_status heed_paged_cache_length(const heed_paged_cache* cache, int64_t sequence,
                                               size_t* tokens);
/* Tokens [n * page_size, (n + 1) * page_size) lie in page (*table)[n], n < *pages. */
HEED_C_API heed_status heed_paged_cache_block_table(const heed_paged_cache* cache, int64_t sequence,
                                                    const int32_t** table, size_t* pages);
/* How many leading tokens lie in pages that all of the sequences hold. */
HEED_C_API heed_status heed_paged_cache_shared_prefix(const heed_paged_cache* cache,
                                                      const int64_t* sequences, size_t count,
                                                      size_t* tokens);
/* The next n tokens of `count` different sequences: k [count, kv_heads, n, key_dim] and v likewise;
 * views of this cache are refused. HEED_NO_MEMORY, with nothing written, if not all of them fit. */
HEED_C_API heed_status heed_paged_cache_append(heed_paged_cache* cache, const int64_t* sequences,
                                               size_t count, const heed_tensor* k,
                                               const heed_tensor* v);
/* q [count, query_heads, n_q, key_dim] over the tokens of each sequence, read in place; ragged
 * queries by cu_seqlens_q alone. */
HEED_C_API heed_status heed_paged_cache_attention(const heed_paged_cache* cache,
                                                  const int64_t* sequences, size_t count,
                                                  const heed_tensor* q, const heed_tensor* out,
                                                  float* lse, const heed_options* options);
/* The same up to rounding, the pages that all of the sequences share read once for all of them. */
HEED_C_API heed_status heed_paged_cache_cascade_attention(const heed_paged_cache* cache,
                                                          const int64_t* sequences, size_t count,
                                                          const heed_tensor* q,
                                                          const heed_tensor* out, float* lse,
                                                          const heed_options* options);

/* ---- Explaining ------------------------------------------------------------------------------ */

/* The trace of a problem file's text (JSON), every number in it, as JSON: the document that
 * `heed explain --format json` writes. *json is released by heed_string_free. */
HEED_C_API heed_status heed_explain_json(const char* problem, char** json);
HEED_C_API void heed_string_free(char* text);

#ifdef __cplusplus
}
#endif

#endif /* HEED_C_H_ */
