// The three-step computation, S = Q K^T, P = softmax(S), O = P V, as a list of independent pieces
// for a matrix library to work on: one per head and sequence, spread over the threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/harness/aligned.h"
#include "bench/harness/inputs.h"
#include "bench/peers/peer.h"

namespace heed::bench {

// One head of one sequence, rows contiguous and `_stride` elements apart.
struct Piece {
  const float* q = nullptr;     // [n_q, d]
  const float* k = nullptr;     // [n_k, d]
  const float* v = nullptr;     // [n_k, d]
  float* o = nullptr;           // [n_q, d]
  const float* bias = nullptr;  // [n_q, n_k] contiguous, or null
  std::size_t n_q = 0, n_k = 0, d = 0;
  std::size_t q_stride = 0, kv_stride = 0, o_stride = 0;
  float scale = 1;
  bool causal = false;  // query i sees keys 0 ... i
};

// Queries of one group at n_q = 1 become the rows of one piece, so that K and V are read once.
std::vector<Piece> pieces_of(const Problem& problem, float* output);

// Computes one piece, with room for its n_q x n_k scores.
using ComputePiece = void (*)(const Piece& piece, float* scores);

// Columns [0, columns) of c = a w, all rows contiguous and `_stride` elements apart.
struct Product {
  const float* a = nullptr;  // [rows, in]
  const float* w = nullptr;  // [in, columns]
  float* c = nullptr;        // [rows, columns]
  std::size_t rows = 0, in = 0, columns = 0;
  std::size_t a_stride = 0, w_stride = 0, c_stride = 0;
};
using ComputeProduct = void (*)(const Product& product);

// A peer that computes the pieces in parallel; null for keys that are not f32. Of a layer, the
// projections are products too, their columns shared among the threads.
std::unique_ptr<Peer> make_three_step(const Problem& problem, std::size_t threads, float* output,
                                      ComputePiece compute, ComputeProduct multiply);

}  // namespace heed::bench
