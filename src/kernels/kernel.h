// What kernels are given: one run of a problem, the rules its scores follow in the kernels' units,
// and a crew of threads. Prefill and decode both work from this and from rows.h.
//
// A kernel NAME is three functions of NAME.h, which Runner (run.h) calls:
// - NAME_shape(problem, ...) tells the sizes of tiles and workspace; what results depend on follows
//   from shapes, dtypes and options alone.
// - NAME_items(problem, shape, ...) lists the work of given sequences, most expensive first.
// - run_NAME(run, shape, items, ...) does it, piece by piece, on the crew.
// Which kernel a sequence gets depends on that sequence alone, never on the rest of the batch nor
// on the threads: its bits must not.
//
// Scores live in base 2: the scale times log2(e) is folded into the query, p = 2^(s - m), and only
// the logsumexp handed out is natural. A score_mod sees natural scores.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>

#include "base/problem.h"
#include "base/threads.h"
#include "heed/options.h"
#include "heed/view.h"
#include "kernels/rows.h"

namespace heed::kernels {

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.6931471805599453094;

// The operands of one run. Everything has been checked and outlives it.
struct Run {
  const Problem* problem = nullptr;
  const AttentionOptions* options = nullptr;
  ConstTensorView q;
  KeyValues kv;
  TensorView out;
  RowView lse;
};

// Steps 1 to 3 of the operator in the kernels' units.
struct ScoreRules {
  float query_scale = 1;  // multiplies the query, or the key, so that q . k is the score
  bool capped = false;    // then q . k is score / softcap, and the score is
  float cap = 0;          //   cap * tanh(q . k)
  float unit = 1;         // multiplies bias and slopes: log2(e), or 1 before a score_mod
  ScoreView bias, mask;   // stride 0 along broadcast axes
  std::span<const float> slopes;
  ScoreMod mod;  // its result is multiplied by log2(e)

  // Whether scores change between q . k and the softmax, other than by the range of visible keys.
  bool change_scores() const {
    return capped || bias || mask || !slopes.empty() || static_cast<bool>(mod);
  }
  // Whether keys inside the range of visible keys can be hidden.
  bool hide_keys() const { return bias || mask || static_cast<bool>(mod); }
};
ScoreRules score_rules(const Problem& problem, const AttentionOptions& options);

// Whether mask or bias hide key j from query i of sequence n. Slow: for the rare rows and tiles
// that need it one by one.
bool mask_hides(const ScoreRules& rules, std::size_t n, std::size_t head, std::size_t i,
                std::size_t j);
bool bias_hides(const ScoreRules& rules, std::size_t n, std::size_t head, std::size_t i,
                std::size_t j);

// A sink of -infinity is none.
float sink_of(const Run& run, std::size_t head);

// The threads of one run: how many, their workspace, and word of how far it is.
class Crew {
 public:
  Crew(std::size_t threads, std::span<std::byte> workspace, const Progress& progress, double work)
      : threads_(threads), workspace_(workspace), progress_(progress), work_(work) {}

  std::size_t threads() const { return threads_; }

  // The workspace shared by all threads, kAlignment-aligned.
  std::span<std::byte> workspace() const { return workspace_; }

  // Calls task(index, next, worker) for every index in [0, tasks), lower ones first; next is the
  // index this thread will do afterwards (>= tasks: none), so that a task can prefetch for it.
  // Returns false if the run was cancelled.
  template <class F>
  bool for_each(std::size_t tasks, F&& task) {
    std::atomic<std::size_t> counter{0};
    const auto claim = [&] { return counter.fetch_add(1, std::memory_order_relaxed); };
    const std::size_t threads = threads_ < tasks ? threads_ : tasks;
    return parallel_for(threads, threads, [&](std::size_t, std::size_t worker) {
      std::size_t index = claim();
      while (index < tasks) {
        const std::size_t next = claim();
        task(index, next, worker);
        if (cancelled()) return false;
        index = next;
      }
      return true;
    });
  }

  // Adds to the work done (in the unit of the constructor) and tells the caller now and then.
  void did(double work);
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::size_t threads_;
  std::span<std::byte> workspace_;
  Progress progress_;
  double work_;
  double done_ = 0;  // under mutex_
  std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace heed::kernels
