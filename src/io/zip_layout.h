// The numbers of the zip format (APPNOTE.TXT of PKWARE), for reader and writer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::io {

inline constexpr std::uint32_t kLocalSignature = 0x04034b50;
inline constexpr std::uint32_t kCentralSignature = 0x02014b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::uint32_t kEnd64Signature = 0x06064b50;
inline constexpr std::uint32_t kLocator64Signature = 0x07064b50;

// Fixed parts of each record.
inline constexpr std::size_t kLocalBytes = 30;
inline constexpr std::size_t kCentralBytes = 46;
inline constexpr std::size_t kEndBytes = 22;
inline constexpr std::size_t kEnd64Bytes = 56;
inline constexpr std::size_t kLocator64Bytes = 20;

inline constexpr std::uint16_t kStored = 0, kDeflated = 8;  // compression methods
inline constexpr std::uint16_t kEncryptedFlag = 1, kUtf8Flag = 1 << 11;
inline constexpr std::uint16_t kExtra64 = 1;             // the extra field of 64-bit sizes
inline constexpr std::uint32_t kIn64 = 0xffffffffu;      // "this number is in the zip64 field"
inline constexpr std::uint16_t kVersion64 = 45;          // what zip64 needs to be read
inline constexpr std::uint16_t kEpochDate = 1 << 5 | 1;  // 1 January 1980: same input, same bytes

}  // namespace heed::io
