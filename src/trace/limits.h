// The largest problem that is worked out entry by entry.
#pragma once

namespace heed::explain {

// Numbers in all score matrices together: half a gigabyte of doubles, with the reference's own.
inline constexpr double kMostNumbers = 1 << 25;

}  // namespace heed::explain
