#include "kernels/targets.h"

#include <cstdlib>
#include <vector>

#include "base/checks.h"
#include "heed/attention.h"
#include "kernels/simd-inl.h"

namespace heed::kernels {
namespace {

std::vector<Target> find_runnable_targets() {
#if HEED_WITH_HIGHWAY
  std::vector<Target> targets;
  // Highway's bits fall from the worst target to the best. The scalar one runs everywhere, though
  // Highway does not count it as supported where there is a better one.
  std::int64_t left = (HWY_SUPPORTED_TARGETS | HWY_SCALAR) & HWY_TARGETS;
  for (; left != 0; left &= left - 1) targets.push_back({left & -left});
  return targets;
#else
  return {Target{1}};
#endif
}

// Best first. Asked for once: Highway asks the processor each time, which a virtual machine makes
// cost as much as a small problem.
const std::vector<Target>& runnable_targets() {
  static const std::vector<Target> targets = find_runnable_targets();
  return targets;
}

}  // namespace

std::string name_of(Target target) {
#if HEED_WITH_HIGHWAY
  return hwy::TargetName(target.bit);
#else
  static_cast<void>(target);
  return "SCALAR";
#endif
}

Target chosen_target() {
  const std::vector<Target>& targets = runnable_targets();
  const char* forced = std::getenv("HEED_FORCE_TARGET");
  if (forced == nullptr || *forced == '\0') return targets.front();
  std::string names;
  for (const Target target : targets) {
    if (name_of(target) == forced) return target;
    names += (names.empty() ? "" : ", ") + name_of(target);
  }
  fail("HEED_FORCE_TARGET is ", forced, " but this build runs here on ", names);
}

}  // namespace heed::kernels

namespace heed {

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (const kernels::Target target : kernels::runnable_targets()) names.push_back(name_of(target));
  return names;
}

std::string current_target() {
  return name_of(kernels::chosen_target());
}

}  // namespace heed
