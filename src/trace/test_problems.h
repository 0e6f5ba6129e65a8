// Problems that the tests of this folder share.
#pragma once

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

}  // namespace heed::explain
