#include "io/deflate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/checks.h"

#if HEED_WITH_ZLIB
#include <zlib.h>
#endif

namespace heed::io {

#if HEED_WITH_ZLIB

namespace {

// zlib counts in unsigned int: longer data is handed to it in pieces.
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

// Takes up to kMostAtOnce bytes off the front of `rest` as zlib's next input.
void feed(z_stream& stream, Bytes& rest) {
  const std::size_t count = std::min(rest.size(), kMostAtOnce);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));
  stream.avail_in = static_cast<uInt>(count);
  rest = rest.subspan(count);
}

}  // namespace

std::uint32_t crc32(Bytes bytes, std::uint32_t earlier) {
  if (bytes.empty()) return earlier;  // zlib takes a null pointer for "start anew"
  return static_cast<std::uint32_t>(
      ::crc32_z(earlier, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct Inflater::Impl {
  z_stream stream = {};
  Bytes rest;  // not yet handed to zlib
  std::string source;
  bool ended = false;

  Impl(Bytes compressed, std::string name) : rest(compressed), source(std::move(name)) {
    require(::inflateInit2(&stream, -MAX_WBITS) == Z_OK, source, ": zlib cannot start");
  }
  ~Impl() { ::inflateEnd(&stream); }

  // Fills `out` as far as the data goes; returns how far.
  std::size_t fill(std::span<std::byte> out) {
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    while (stream.avail_out > 0 && !ended) {
      if (stream.avail_in == 0) feed(stream, rest);
      const int code = ::inflate(&stream, Z_NO_FLUSH);
      ended = code == Z_STREAM_END;
      require(code == Z_OK || ended, source, ": the compressed data is damaged (",
              stream.msg != nullptr ? stream.msg : "it ends too early", ")");
    }
    return out.size() - stream.avail_out;
  }
};

Inflater::Inflater(Bytes compressed, std::string source)
    : impl_(std::make_unique<Impl>(compressed, std::move(source))) {}
Inflater::~Inflater() = default;

std::vector<std::byte> Inflater::read(std::size_t bytes) {
  constexpr std::size_t kFirst = std::size_t{1} << 20;
  std::vector<std::byte> out;
  while (out.size() < bytes && !impl_->ended) {
    const std::size_t have = out.size();
    const std::size_t more = std::min({bytes - have, std::max(have, kFirst), kMostAtOnce});
    out.resize(have + more);
    out.resize(have + impl_->fill(std::span(out).subspan(have)));
  }
  return out;
}

void Inflater::expect_end() {
  std::byte extra;
  require(impl_->fill({&extra, 1}) == 0, impl_->source, ": holds more than it claims");
  require(impl_->stream.avail_in == 0 && impl_->rest.empty(), impl_->source,
          ": bytes follow the end of the compressed data");
}

std::vector<std::byte> deflated(Bytes bytes) {
  z_stream stream = {};
  require(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK,
          "deflate: zlib cannot start");
  struct End {
    z_stream& stream;
    ~End() { ::deflateEnd(&stream); }
  } const end{stream};
  std::vector<std::byte> out;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) feed(stream, bytes);
    const std::size_t have = out.size();
    const std::size_t more = std::min(std::max(have, std::size_t{1} << 16), kMostAtOnce);
    out.resize(have + more);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(more);
    code = ::deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(have + more - stream.avail_out);
  }
  return out;
}

#else

std::uint32_t crc32(Bytes bytes, std::uint32_t earlier) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t remainder = i;
      for (int bit = 0; bit < 8; ++bit)
        remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320u : 0u);
      table[i] = remainder;
    }
    return table;
  }();
  std::uint32_t crc = ~earlier;
  for (const std::byte b : bytes)
    crc = crc >> 8 ^ kTable[(crc ^ std::to_integer<unsigned>(b)) & 255];
  return ~crc;
}

struct Inflater::Impl {};
Inflater::Inflater(Bytes, std::string source) {
  fail(source, ": is compressed, and this build of heed has no zlib");
}
Inflater::~Inflater() = default;
std::vector<std::byte> Inflater::read(std::size_t) {
  return {};
}
void Inflater::expect_end() {}

std::vector<std::byte> deflated(Bytes) {
  fail("deflate: this build of heed has no zlib");
}

#endif

}  // namespace heed::io
