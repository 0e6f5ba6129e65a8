// That keys and values are read in one pass, for all the rows they serve: their memory is closed
// but for the pages opened last, and whoever comes back to an earlier one is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/case_test.h"

namespace heed {
namespace {

using test::for_each_target;
using test::Random;
using ::testing::Each;

// Floats on pages of their own. Once closed, a page opens when it is touched, and closes when
// `window` bytes more have been opened after it.
class Watched {
 public:
  Watched(std::size_t size, std::size_t window, Random& random)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        window_(window / page_),
        opened_((size * sizeof(float) + page_ - 1) / page_) {
    order_.reserve(64 * opened_.size());  // the handler must not allocate
    void* memory = mmap(nullptr, opened_.size() * page_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<float*>(memory);
    std::generate_n(data_, size, [&] { return 0.25f * random.normal(); });
  }
  ~Watched() { munmap(data_, opened_.size() * page_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  const float* data() const { return data_; }
  // How often each page was opened.
  const std::vector<int>& opened() const { return opened_; }

  void close() { protect(0, opened_.size(), PROT_NONE); }
  void open() { protect(0, opened_.size(), PROT_READ); }

  // False if the address lies elsewhere.
  bool touch(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto begin = reinterpret_cast<std::uintptr_t>(data_);
    if (at < begin || at >= begin + opened_.size() * page_) return false;
    const std::size_t page = (at - begin) / page_;
    if (order_.size() == order_.capacity()) return false;
    ++opened_[page];
    order_.push_back(page);
    protect(page, 1, PROT_READ);
    if (order_.size() > window_) protect(order_[order_.size() - 1 - window_], 1, PROT_NONE);
    return true;
  }

 private:
  void protect(std::size_t page, std::size_t count, int access) {
    mprotect(reinterpret_cast<std::byte*>(data_) + page * page_, count * page_, access);
  }

  std::size_t page_, window_;
  float* data_ = nullptr;
  std::vector<int> opened_;
  std::vector<std::size_t> order_;  // pages as they were opened
};

std::span<Watched* const> watched_now;

void on_fault(int, siginfo_t* info, void*) {
  for (Watched* memory : watched_now)
    if (memory->touch(info->si_addr)) return;
  signal(SIGSEGV, SIG_DFL);  // not ours: the access faults again, for good
  signal(SIGBUS, SIG_DFL);
}

// Runs f with the memory closed.
template <class F>
void watch(std::span<Watched* const> memory, F&& f) {
  struct sigaction handler = {}, segv = {}, bus = {};
  handler.sa_sigaction = on_fault;
  handler.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &handler, &segv);
  sigaction(SIGBUS, &handler, &bus);  // what macOS sends
  watched_now = memory;
  for (Watched* one : memory) one->close();
  f();
  watched_now = {};
  sigaction(SIGSEGV, &segv, nullptr);
  sigaction(SIGBUS, &bus, nullptr);
  for (Watched* one : memory) one->open();
}

// What stays open: as much as the first-level cache holds, and half of a small second-level one.
constexpr std::size_t kNearest = 32768, kNear = 262144;

TEST(OnePass, AReturnIsNoticed) {
  Random random(1);
  Watched memory(1 << 18, kNearest, random);
  std::array<Watched*, 1> all = {&memory};
  float sum = 0;
  watch(all, [&] {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t n = 0; n < 1 << 18; ++n) sum += memory.data()[n];
  });
  EXPECT_NE(sum, 0.0f);
  EXPECT_THAT(memory.opened(), Each(2));
}

TEST(OnePass, SelfishAttentionReadsEachKeyOnceAsKeyAndAsValue) {
  for_each_target([](const std::string&) {
    // Keys are read from four places, whose ends share no page.
    constexpr std::size_t kBatch = 2, kTokens = 3072, kDim = 64;
    Random random(2);
    Watched keys(kBatch * kTokens * kDim, kNearest, random);
    std::array<Watched*, 1> all = {&keys};
    const std::vector<float> query(kBatch * kDim, 0.5f);
    std::vector<float> out(kBatch * kDim), expected(out);
    const auto run = [&](std::vector<float>& to) {
      selfish_attention(keys.data(), query.data(), to.data(), kBatch, kTokens, kDim,
                        {.threads = 1});
    };
    run(expected);
    watch(all, [&] { run(out); });
    EXPECT_EQ(out, expected);
    EXPECT_THAT(keys.opened(), Each(1));
  });
}

TEST(OnePass, DecodeReadsKeysAndValuesOnceForAllHeadsOfAGroup) {
  for_each_target([](const std::string&) {
    constexpr std::size_t kGroup = 8, kTokens = 4096, kDim = 64;
    Random random(3);
    Watched keys(kTokens * kDim, kNear, random), values(kTokens * kDim, kNear, random);
    std::array<Watched*, 2> all = {&keys, &values};
    const std::vector<float> query(kGroup * kDim, 0.5f);
    std::vector<float> out(kGroup * kDim), expected(out);
    const auto run = [&](std::vector<float>& to) {
      attention(bhnd(query.data(), 1, kGroup, 1, kDim), bhnd(keys.data(), 1, 1, kTokens, kDim),
                bhnd(values.data(), 1, 1, kTokens, kDim), bhnd(to.data(), 1, kGroup, 1, kDim), {},
                {.threads = 1});
    };
    run(expected);
    watch(all, [&] { run(out); });
    EXPECT_EQ(out, expected);
    EXPECT_THAT(keys.opened(), Each(1));
    EXPECT_THAT(values.opened(), Each(1));
  });
}

}  // namespace
}  // namespace heed
