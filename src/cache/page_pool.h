// Who holds which page: a free list, and how many sequences hold each page.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed::cache {

using Page = std::int32_t;

// Taking, sharing and releasing allocate nothing and do not throw.
class PagePool {
 public:
  explicit PagePool(std::size_t pages) : holders_(pages, 0), free_(pages) {
    for (std::size_t n = 0; n < pages; ++n) free_[n] = static_cast<Page>(pages - 1 - n);
  }

  std::size_t size() const { return holders_.size(); }
  std::size_t free() const { return free_.size(); }
  std::size_t holders(Page page) const { return holders_[static_cast<std::size_t>(page)]; }

  // A page with one holder. Some page must be free.
  Page take() {
    assert(!free_.empty());
    const Page page = free_.back();
    free_.pop_back();
    ++holders_[static_cast<std::size_t>(page)];
    return page;
  }

  // One more holder.
  void share(Page page) { ++holders_[static_cast<std::size_t>(page)]; }

  // One holder less; without any the page is free.
  void release(Page page) {
    assert(holders(page) > 0);
    if (--holders_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
  }

 private:
  std::vector<std::size_t> holders_;
  std::vector<Page> free_;  // never holds more than it began with, so it never grows
};

}  // namespace heed::cache
