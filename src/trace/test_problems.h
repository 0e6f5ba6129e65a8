// Problems that the tests of this folder share.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "heed/error.h"
#include "heed/problem.h"

namespace heed::explain {

inline Problem i_love_ai() {
  Problem p;
  p.title = "I love AI";
  Sequence s;
  s.tokens = {"I", "love", "AI"};
  s.x = Matrix(3, 2, {1, 0, 0, 1, 1, 1});
  p.sequences = {s};
  p.w_q = {Matrix(2, 2, {1, 0, 1, 1})};
  p.w_k = {Matrix(2, 2, {0, 1, 1, 0})};
  p.w_v = {Matrix(2, 2, {1, 2, 0, 1})};
  return p;
}

// Cross-attention with every option there is: two queries, three keys, four heads on two, biases.
inline Problem everything() {
  Problem p;
  p.title = "Everything";
  p.heads = 4;
  p.kv_heads = 2;
  Sequence s;
  s.tokens = {"a", "b"};
  s.context_tokens = {"x", "y", "z"};
  s.x = Matrix(2, 2, {1, 0.5, -1, 2});
  s.context = Matrix(3, 3, {1, 0, 2, 0.25, -1, 1, 3, 0.5, -0.5});
  s.bias = Matrix(2, 3, {0, 0.25, -std::numeric_limits<double>::infinity(), 1, 0, 0});
  s.mask = Matrix(1, 3, {1, 1, 1});
  s.key_length = 3;
  p.sequences = {s};
  for (int h = 0; h < 4; ++h) {
    p.w_q.push_back(Matrix(2, 2, {1.0, 0.5 * h, -0.5, 1}));
    p.b_q.push_back(Matrix(1, 2, {0.1 * h, -0.2}));
  }
  for (int g = 0; g < 2; ++g) {
    p.w_k.push_back(Matrix(3, 2, {0.5, 1, 1.0 * g, 0, -1, 0.25}));
    p.b_k.push_back(Matrix(1, 2, {0.3, 0.1 * g}));
    p.w_v.push_back(Matrix(3, 1, {1, -1.0 * g, 0.5}));
    p.b_v.push_back(Matrix(1, 1, {0.5}));
  }
  p.w_o = Matrix(4, 2, {1, 0, 0, 1, 0.5, 0.5, -1, 1});
  p.b_o = Matrix(1, 2, {0.125, -0.125});
  p.scale = 0.7;
  p.softcap = 3;
  p.causal = Causal::lower_right;
  p.window_left = 1;
  p.alibi_slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  p.sinks = {0.5f, -1.0f, 0.0f, 0.25f};
  return p;
}

// One query per batch row; the keys are the values.
inline Problem selfish() {
  Problem p;
  p.values = Problem::Values::keys;
  p.scale = 1;
  for (const auto& [query, keys] :
       {std::pair(std::vector<double>{2, 0, -1},
                  std::vector<double>{1, 0, 1, 1, 0, -1, -1, 1, 0, -1, 0, 1}),
        std::pair(std::vector<double>{1, 1, 1},
                  std::vector<double>{2, 3, 9, 1, 4, 3, -1, 0, 5, -1, -2, 0})}) {
    Sequence s;
    s.q = {Matrix(1, 3, query)};
    s.k = {Matrix(4, 3, keys)};
    p.sequences.push_back(s);
  }
  return p;
}

// What `f` refuses with; fails the test when it accepts.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace heed::explain
