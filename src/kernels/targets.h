// Targets: the instruction sets the kernels are compiled for, and which one a run uses.
//
// Every kernel exists once per target (foreach_target.h); a Target picks one of them at run time.
// There is no global state: whoever plans a run asks chosen_target() and passes the answer on.
#pragma once

#include <cstdint>
#include <string>

namespace heed::kernels {

// One instruction set, as Highway numbers them; better ones have lower bits.
struct Target {
  std::int64_t bit = 0;
  friend bool operator==(Target, Target) = default;
};

std::string name_of(Target target);

// The best target of this machine, or the one that HEED_FORCE_TARGET names; throws heed::Error if
// it names none that this machine can run.
Target chosen_target();

}  // namespace heed::kernels
