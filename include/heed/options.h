// AttentionOptions: what is computed. Execution: how it is run. Neither changes the other.
//
// The operator, for batch b, query head h, its key/value head g = h / (H_q / H_kv), query i, key j:
//   1. s_ij  = scale * (q_i . k_j)
//   2. s_ij  = softcap * tanh(s_ij / softcap)                        if softcap is given
//   3. s_ij += bias_ij;  s_ij -= slope_h * |i + offset - j|;  then score_mod
//   4. key j is visible to query i when causal, window, key length and mask all allow it
//   5. p_ij  = exp(s_ij - lse_i) if visible, else 0;  lse_i = log sum_visible exp(s_ij)
//      (a sink adds exp(sink_h) to the sum)
//   6. o_i   = sum_j p_ij * v_j
// A row with no visible key gives o = 0, p = 0 and lse = -infinity (with a sink: lse = sink).
// Visibility decides, never magnitude:
// - a bias of -infinity hides its key, as does a score that score_mod turns into -infinity;
// - a visible score that is -infinity by arithmetic stays visible: it weighs 0 beside finite ones,
//   and a row of nothing else gives NaN;
// - NaN or infinity in a visible input propagates; in a hidden key or value it never leaks.
//
// Everything here is a plain value or a view; what a view points at must outlive the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "heed/view.h"

namespace heed {

// Which corners of the score matrix the causal diagonal runs through, that is, where query 0 stands
// among the keys:
//   upper_left    offset = 0                    query 0 sees key 0 only (PyTorch's is_causal)
//   lower_right   offset = key length - n_q     the last query sees every key (decoding)
enum class Causal : std::uint8_t { upper_left, lower_right };

// A tile of scores [rows, cols] of one head, handed to score_mod to be changed in place.
template <class T>
struct ScoreTile {
  T* s = nullptr;  // s[i * stride + j]
  std::size_t rows = 0, cols = 0, stride = 0;
  std::size_t batch = 0, head = 0;  // of the query; in a ragged batch, batch is the sequence
  std::size_t query = 0, key = 0;   // coordinates of s[0]
};

// The caller's own change to the scores (step 3). Called once per tile, from several threads at
// once, for a superset of the visible entries; must not throw. Build one with score_mod(f).
struct ScoreMod {
  void (*f32)(const ScoreTile<float>&, void* user) = nullptr;
  void (*f64)(const ScoreTile<double>&, void* user) = nullptr;  // optional: exact in the reference
  void* user = nullptr;

  explicit operator bool() const { return f32 != nullptr; }
};

// ScoreMod of a callable `f(tile)`, with `auto tile` or ScoreTile<float>. Keeps a pointer to f.
template <class F>
ScoreMod score_mod(F& f) {
  ScoreMod mod;
  mod.user = const_cast<void*>(static_cast<const void*>(&f));
  mod.f32 = [](const ScoreTile<float>& tile, void* user) { (*static_cast<F*>(user))(tile); };
  if constexpr (std::is_invocable_v<F&, const ScoreTile<double>&>)
    mod.f64 = [](const ScoreTile<double>& tile, void* user) { (*static_cast<F*>(user))(tile); };
  return mod;
}

// Behaviour. Absence is an empty optional or an empty view, never a magic number.
struct AttentionOptions {
  std::optional<double> scale = {};                  // default: 1 / sqrt(d_k)
  std::optional<double> softcap = {};                // s <- softcap * tanh(s / softcap); > 0
  std::optional<Causal> causal = {};                 // key j <= i + offset only; default: every key
  std::optional<std::int64_t> query_offset = {};     // query i stands at key i + offset
  std::span<const std::int64_t> query_offsets = {};  // the same, one per sequence
  // With neither, the offset is the one `causal` names. Windows and ALiBi use it too; without
  // `causal` they need it stated, unless n_q equals every key length (then it is 0).
  std::optional<std::int64_t> window_left = {};   // j >= i + offset - window_left; >= 0
  std::optional<std::int64_t> window_right = {};  // j <= i + offset + window_right; >= 0
  ScoreView mask = {};                            // boolean, true = attend
  ScoreView bias = {};  // added to the scores, unscaled; -infinity hides too
  std::span<const std::int64_t> key_lengths = {};  // keys j >= length are hidden; one per sequence
  std::span<const float> alibi_slopes = {};        // one per query head; finite
  std::span<const float> sinks = {};               // one per query head; -infinity: none
  ScoreMod score_mod = {};

  // Ragged batch, without padding: both given or neither. q has batch 1 and tokens
  // cu_seqlens_q.back(); sequence n is tokens [cu_seqlens_q[n], cu_seqlens_q[n + 1]), likewise for
  // the keys. Masks and biases are then [sequences, heads, longest n_q, longest n_k].
  std::span<const std::int64_t> cu_seqlens_q = {};
  std::span<const std::int64_t> cu_seqlens_k = {};
};

// Told now and then how much of a run is done (0..1); returning false cancels the run, which then
// throws heed::Cancelled. Called from one thread at a time.
struct Progress {
  bool (*call)(double done, void* user) = nullptr;
  void* user = nullptr;
};

// Performance. Never changes a bit of the result.
struct Execution {
  std::size_t threads = 0;  // at most this many; 0: as many as the current oneTBB arena has
  Progress progress = {};
};

}  // namespace heed
