// How much memory a piece of work needs beyond what is there when it starts.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace heed::bench {

// Runs `work` and returns by how many bytes the resident memory of the process grew at its highest.
// Empty where the system does not tell (it does on Linux).
std::optional<std::size_t> peak_growth(const std::function<void()>& work);

}  // namespace heed::bench
