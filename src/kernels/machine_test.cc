#include "heed/machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "heed/error.h"

namespace heed {
namespace {

TEST(Machine, LimitsAreRatesOnAnyNumberOfThreads) {
  const std::vector<std::uint32_t> words(10007, 0x7fc00001u);  // odd size; NaN if read as floats
  for (std::size_t threads = 1; threads <= available_threads(); ++threads) {
    const double peak = measure_fma_peak(threads, 0);
    EXPECT_TRUE(std::isfinite(peak) && peak > 0) << peak;
    for (const std::size_t places : {1, 4, 100000}) {
      const double rate = measure_read_bandwidth(std::as_bytes(std::span(words)), threads, places);
      EXPECT_TRUE(std::isfinite(rate) && rate > 0) << rate;
    }
  }
}

TEST(Machine, RefusesWhatCannotBeMeasured) {
  const std::vector<std::uint32_t> words(64);
  const auto bytes = std::as_bytes(std::span(words));
  EXPECT_THROW(measure_fma_peak(0, 0), Error);
  for (const double length : {0.0, -1.0, 2.0, std::nan("")})
    EXPECT_THROW(measure_fma_peak(1, 0, length), Error);
  EXPECT_THROW(measure_read_bandwidth(bytes, 0), Error);
  EXPECT_THROW(measure_read_bandwidth(bytes, 5), Error);  // less than a cache line each
  EXPECT_THROW(measure_read_bandwidth(bytes.subspan(1), 1), Error);
  EXPECT_THROW(measure_read_bandwidth({}, 1), Error);
  EXPECT_THROW(measure_read_bandwidth(bytes, 1, 0), Error);
}

}  // namespace
}  // namespace heed
