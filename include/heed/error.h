// heed::Error: the one exception type of the library.
//
// Thrown at the edge only (wrong shapes, bad files, unusable options), before any output is
// written. The message names the place and both offending values:
//   "attention: query has head_dim 64 but key has 80".
#pragma once

#include <stdexcept>
#include <string>

namespace heed {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown out of a run whose Progress callback asked to stop. The output is then unspecified.
class Cancelled : public Error {
 public:
  using Error::Error;
};

}  // namespace heed
