// Claim: sequences that share a prefix decode faster when it is attended once for all of them.
//
//   heed_bench_cascade [SECONDS]     cascade_attention beside attention on the same paged cache, in
//                                    turns; every answer is checked against the oracle
// Exits with 1 if an answer is further from the truth than plain float's, twice over.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/harness/turns.h"
#include "heed/kv_cache.h"
#include "heed/machine.h"
#include "heed/reference.h"

namespace {

constexpr std::size_t kSequences = 32, kPrefix = 4096, kOwn = 64, kQueryHeads = 32, kKvHeads = 8,
                      kDim = 128;

// Numbers between -1.7 and 1.7, of deviation 1, the same on every machine.
class Numbers {
 public:
  std::vector<float> next(std::size_t count) {
    std::vector<float> values(count);
    for (float& x : values) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      x = (static_cast<float>(state_ >> 40) * 0x1p-24f - 0.5f) * 3.4641016f;
    }
    return values;
  }

 private:
  std::uint64_t state_ = 1;
};

// Forks of one prompt, each with tokens of its own, about to decode one more.
struct Batch {
  heed::PagedKVCache cache;
  std::vector<heed::SequenceId> ids;
  std::vector<float> prefix_k, prefix_v, own_k, own_v, q, plain, cascade;

  explicit Batch(Numbers numbers)
      : cache({.kv_heads = kKvHeads,
               .key_dim = kDim,
               .pages = (kPrefix + kSequences * kOwn) / 16,
               .page_size = 16}),
        prefix_k(numbers.next(kKvHeads * kPrefix * kDim)),
        prefix_v(numbers.next(kKvHeads * kPrefix * kDim)),
        own_k(numbers.next(kSequences * kKvHeads * kOwn * kDim)),
        own_v(numbers.next(kSequences * kKvHeads * kOwn * kDim)),
        q(numbers.next(kSequences * kQueryHeads * kDim)),
        plain(q.size()),
        cascade(q.size()) {
    const heed::SequenceId prompt = cache.add();
    cache.append(prompt, heed::bhnd(prefix_k.data(), 1, kKvHeads, kPrefix, kDim),
                 heed::bhnd(prefix_v.data(), 1, kKvHeads, kPrefix, kDim));
    for (std::size_t n = 0; n < kSequences; ++n) ids.push_back(cache.fork(prompt));
    cache.remove(prompt);
    cache.append(ids, heed::bhnd(own_k.data(), kSequences, kKvHeads, kOwn, kDim),
                 heed::bhnd(own_v.data(), kSequences, kKvHeads, kOwn, kDim));
  }

  heed::ConstTensorView queries() const {
    return heed::bhnd(q.data(), kSequences, kQueryHeads, 1, kDim);
  }
  static heed::TensorView output(std::vector<float>& out) {
    return heed::bhnd(out.data(), kSequences, kQueryHeads, 1, kDim);
  }
};

// The keys (or values) that one head of one sequence sees, as one tensor.
std::vector<float> joined(const std::vector<float>& prefix, const std::vector<float>& own,
                          std::size_t n, std::size_t head) {
  const auto begin = prefix.begin() + static_cast<std::ptrdiff_t>(head * kPrefix * kDim);
  std::vector<float> all(begin, begin + kPrefix * kDim);
  const auto more = own.begin() + static_cast<std::ptrdiff_t>((n * kKvHeads + head) * kOwn * kDim);
  all.insert(all.end(), more, more + kOwn * kDim);
  return all;
}

// Largest errors on one row of every fourth sequence: of both ways and of plain float.
struct Errors {
  double plain_way = 0, cascade = 0, plain_float = 0;
};
Errors errors_of(const Batch& batch) {
  Errors errors;
  for (std::size_t n = 0; n < kSequences; n += 4) {
    const std::size_t head = (n * 5) % kQueryHeads, kv_head = head / (kQueryHeads / kKvHeads);
    const std::vector<float> k = joined(batch.prefix_k, batch.own_k, n, kv_head),
                             v = joined(batch.prefix_v, batch.own_v, n, kv_head);
    const std::size_t row = (n * kQueryHeads + head) * kDim;
    const auto q = heed::bhnd(batch.q.data() + row, 1, 1, 1, kDim);
    const auto key = heed::bhnd(k.data(), 1, 1, kPrefix + kOwn, kDim),
               value = heed::bhnd(v.data(), 1, 1, kPrefix + kOwn, kDim);
    const auto truth = heed::reference::attention<double>(q, key, value).o.values;
    const auto plain = heed::reference::attention<float>(q, key, value).o.values;
    for (std::size_t c = 0; c < kDim; ++c) {
      const auto grow = [&](double& error, double x) {
        error = std::max(error, std::abs(x - truth[c]));
      };
      grow(errors.plain_float, plain[c]);
      grow(errors.plain_way, batch.plain[row + c]);
      grow(errors.cascade, batch.cascade[row + c]);
    }
  }
  return errors;
}

}  // namespace

int main(int argc, char** argv) {
  using heed::bench::best;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  Batch batch{Numbers()};
  std::printf(
      "%zu sequences on a shared prefix of %zu tokens, %zu tokens of their own, heads "
      "%zu/%zu of %zu, f32; one decoding step\n",
      kSequences, kPrefix, kOwn, kQueryHeads, kKvHeads, kDim);
  std::printf("threads   each alone ms   cascade ms   times as fast\n");
  for (const std::size_t threads : {std::size_t{1}, heed::available_threads()}) {
    const heed::Execution execution = {.threads = threads};
    std::vector<heed::bench::Subject> subjects(2);
    subjects[0].run = [&] {
      heed::attention(batch.queries(), batch.cache, batch.ids, Batch::output(batch.plain), {},
                      execution);
    };
    subjects[1].run = [&] {
      heed::cascade_attention(batch.queries(), batch.cache, batch.ids, Batch::output(batch.cascade),
                              {}, execution);
    };
    for (auto& subject : subjects) subject.beside = [] {};
    heed::bench::take_turns(subjects, {.seconds = seconds, .rounds = 10, .min_runs = 5});
    const double alone = best(subjects[0].seconds), cascade = best(subjects[1].seconds);
    std::printf("%7zu %15.2f %12.2f %15.2f\n", threads, 1e3 * alone, 1e3 * cascade,
                alone / cascade);
    if (heed::available_threads() == 1) break;
  }
  const Errors errors = errors_of(batch);
  std::printf("largest errors: %.2g alone, %.2g cascade, %.2g plain float\n", errors.plain_way,
              errors.cascade, errors.plain_float);
  return std::max(errors.plain_way, errors.cascade) <= 2 * errors.plain_float ? 0 : 1;
}
