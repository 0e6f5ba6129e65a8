// ProblemSpec for RapidCheck: any small shape with any combination of options, shrinking towards
// one query, one key and no option.
#pragma once

#include <rapidcheck.h>

#include <optional>

#include "tests/support/random_problem.h"

namespace rc {

template <>
struct Arbitrary<heed::support::ProblemSpec> {
  using Spec = heed::support::ProblemSpec;

  template <class T>
  static Gen<std::optional<T>> maybe(std::vector<T> values) {
    return gen::map(gen::inRange<std::size_t>(0, values.size() + 1), [values](std::size_t n) {
      return n == 0 ? std::optional<T>{} : std::optional<T>{values[n - 1]};
    });
  }
  static Gen<std::size_t> size(std::size_t from, std::size_t to) {
    return gen::inRange<std::size_t>(from, to + 1);
  }

  static Gen<Spec> arbitrary() {
    using heed::Causal;
    return gen::build<Spec>(
        gen::set(&Spec::batch, size(1, 3)), gen::set(&Spec::kv_heads, size(1, 2)),
        gen::set(&Spec::group, size(1, 3)), gen::set(&Spec::n_q, size(1, 6)),
        gen::set(&Spec::n_k, size(0, 9)), gen::set(&Spec::d_k, size(1, 5)),
        gen::set(&Spec::d_v, size(1, 4)), gen::set(&Spec::ragged),
        gen::set(&Spec::softcap, maybe<float>({1.5f, 20.0f})),
        gen::set(&Spec::causal, maybe<Causal>({Causal::upper_left, Causal::lower_right})),
        gen::set(&Spec::query_offset, maybe<std::int64_t>({0, 3, -2})),
        gen::set(&Spec::window_left, maybe<std::int64_t>({0, 2, 5})),
        gen::set(&Spec::window_right, maybe<std::int64_t>({0, 1, 4})), gen::set(&Spec::key_lengths),
        gen::set(&Spec::mask), gen::set(&Spec::bias), gen::set(&Spec::alibi),
        gen::set(&Spec::sinks), gen::set(&Spec::seed));
  }
};

}  // namespace rc
