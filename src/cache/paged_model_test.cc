// Random histories of a PagedKVCache against a model that simply keeps a list per sequence.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "heed/kv_cache.h"

namespace heed {
namespace {

// A pool of one-number rows, and the lists it should hold.
struct World {
  explicit World(std::size_t pages, std::size_t page_size)
      : cache({.kv_heads = 1, .key_dim = 1, .pages = pages, .page_size = page_size}) {}

  PagedKVCache cache;
  std::map<SequenceId, std::vector<float>> model;
  float next = 0;  // every token written is another number

  SequenceId pick(std::size_t n) const {
    return std::next(model.begin(), static_cast<std::ptrdiff_t>(n % model.size()))->first;
  }

  void append(std::vector<SequenceId> ids, std::size_t n) {
    std::vector<float> numbers(ids.size() * n);
    for (float& x : numbers) x = next++;
    const auto rows = bhnd(numbers.data(), ids.size(), 1, n, 1);
    const std::size_t free = cache.free_pages();
    try {
      cache.append(ids, rows, rows);
      for (std::size_t b = 0; b < ids.size(); ++b)
        model[ids[b]].insert(model[ids[b]].end(),
                             numbers.begin() + static_cast<std::ptrdiff_t>(b * n),
                             numbers.begin() + static_cast<std::ptrdiff_t>((b + 1) * n));
    } catch (const CacheFull&) {
      RC_ASSERT(cache.free_pages() == free);
      RC_ASSERT(n > 0);
    }
  }

  void step(int what, std::size_t which, std::size_t n) {
    if (model.empty() || what == 0) {
      model.emplace(cache.add(), std::vector<float>());
      return;
    }
    const SequenceId id = pick(which);
    std::vector<float>& list = model[id];
    switch (what) {
      case 1: {
        const std::size_t length = n % (list.size() + 1);
        model.emplace(
            cache.fork(id, length),
            std::vector<float>(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(length)));
        return;
      }
      case 2:
        cache.truncate(id, n % (list.size() + 1));
        list.resize(n % (list.size() + 1));
        return;
      case 3:
        cache.remove(id);
        model.erase(id);
        return;
      case 4: {
        std::set<SequenceId> several = {id, pick(which / 2), pick(which / 3)};
        return append({several.begin(), several.end()}, n % 4);
      }
      default: append({id}, n);
    }
  }

  // Every sequence reads as its list, and exactly the pages that some sequence needs are in use.
  void check() const {
    const auto* keys = static_cast<const float*>(cache.key_pages().data);
    const auto* values = static_cast<const float*>(cache.value_pages().data);
    const std::size_t size = cache.page_size();
    std::set<std::int32_t> held;
    for (const auto& [id, list] : model) {
      const auto table = cache.block_table(id);
      RC_ASSERT(cache.length(id) == list.size());
      RC_ASSERT(table.size() == (list.size() + size - 1) / size);
      held.insert(table.begin(), table.end());
      for (std::size_t t = 0; t < list.size(); ++t) {
        const std::size_t at = static_cast<std::size_t>(table[t / size]) * size + t % size;
        RC_ASSERT(keys[at] == list[t]);
        RC_ASSERT(values[at] == list[t]);
      }
    }
    RC_ASSERT(cache.sequences() == model.size());
    RC_ASSERT(cache.pages() - cache.free_pages() == held.size());
  }
};

RC_GTEST_PROP(PagedKVCacheModel, AnyHistoryLeavesEverySequenceItsTokensAndLeaksNoPage, ()) {
  World world(*rc::gen::inRange<std::size_t>(1, 12), *rc::gen::inRange<std::size_t>(1, 6));
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, std::size_t, std::size_t>>>(
      rc::gen::tuple(rc::gen::inRange(0, 9), rc::gen::inRange<std::size_t>(0, 60),
                     rc::gen::inRange<std::size_t>(0, 14)));
  for (const auto& [what, which, n] : steps) {
    world.step(what, which, n);
    world.check();
  }
  while (!world.model.empty()) world.step(3, 0, 0);
  RC_ASSERT(world.cache.free_pages() == world.cache.pages());
}

}  // namespace
}  // namespace heed
