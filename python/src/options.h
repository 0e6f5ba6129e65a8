// Keyword arguments of heed.attention as AttentionOptions and Execution, with what they point at.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "arrays.h"
#include "heed/options.h"
#include "interruptible.h"

namespace heed::python {

// The keyword arguments, as they come. Unset ones are None.
struct Keywords {
  py::object attn_mask, is_causal, scale, softcap, window, causal_alignment, query_offset,
      kv_lengths, alibi_slopes, sinks, cu_seqlens_q, cu_seqlens_k, score_mod, threads;
};

// A whole number, of Python's or NumPy's; an array is none, even of one element.
inline bool is_integer(const py::object& object) {
  return PyIndex_Check(object.ptr()) != 0 && PySequence_Check(object.ptr()) == 0;
}

// Stays where it is: the options point into it. Made and destroyed with the GIL held; the run
// itself goes on without.
class Options {
 public:
  // Keys of a cache have lengths that it knows: ragged queries are then told by cu_seqlens_q alone.
  enum class Keys { given, cached };
  explicit Options(const Keywords& keywords, Keys keys = Keys::given);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  AttentionOptions attention;
  Execution execution;
  bool ragged() const { return !attention.cu_seqlens_q.empty(); }

  // Runs f() without the GIL; afterwards raises what the score_mod raised, or KeyboardInterrupt.
  template <class F>
  void run(F&& f) {
    run_(std::forward<F>(f));
  }

 private:
  static void call_score_mod(const ScoreTile<float>& tile, void* self) noexcept;
  void take_positions(const Keywords& keywords);
  void take_lists(const Keywords& keywords, Keys keys);
  void take_score_mod(const py::object& given);

  Array mask_;
  std::vector<std::int64_t> key_lengths_, cu_seqlens_q_, cu_seqlens_k_, query_offsets_;
  std::vector<float> alibi_slopes_, sinks_;
  py::object score_mod_;
  Interruptible run_;
};

}  // namespace heed::python
