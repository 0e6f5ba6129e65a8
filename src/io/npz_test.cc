#include <cstring>

#include "io/bytes.h"
#include "io/deflate.h"
#include "io/npy_header.h"
#include "io/test_support.h"
#include "io/zip.h"
#include "io/zip_layout.h"

namespace heed::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Npz : public ScratchTest {
 protected:
  // A file of two tensors, "key" [2, 3] f32 and "mask" [3] bool.
  std::string written(bool deflate) {
    const Array key = array_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const Array mask = array_of<bool>({3}, {true, false, true});
    const NamedArray arrays[] = {{"key", key}, {"mask", mask}};
    write_npz(OutputFile(path("a.npz")), arrays, {.deflate = deflate});
    return contents(path("a.npz"));
  }
};

TensorFile parse(std::string_view file, const ReadOptions& options = {}) {
  return TensorFile(bytes_of(file), "t.npz", options);
}

std::string refusal(std::string_view file, const ReadOptions& options = {}) {
  return error_of([&] {
    const TensorFile parsed = parse(file, options);
    for (const TensorInfo& tensor : parsed.tensors()) parsed.view(tensor.name);
  });
}

// The file with the number at `offset` from the first `signature` replaced.
template <class T>
std::string patched(std::string file, std::uint32_t signature, std::size_t offset, T value) {
  std::byte mark[4];
  store_le(mark, signature);
  const std::size_t at = file.find(std::string_view(reinterpret_cast<char*>(mark), 4));
  EXPECT_NE(at, file.npos);
  store_le(reinterpret_cast<std::byte*>(file.data() + at + offset), value);
  return file;
}

constexpr bool kHasZlib = HEED_WITH_ZLIB;

TEST_F(Npz, WritesWhatItReads) {
  for (const bool deflate : {false, true}) {
    if (deflate && !kHasZlib) continue;
    const TensorFile file = parse(written(deflate));
    EXPECT_EQ(file.format(), "npz");
    ASSERT_EQ(file.tensors().size(), 2u);
    EXPECT_EQ(file.info("key").shape, (Shape{2, 3}));
    EXPECT_THAT(file.view("key").as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(file.view("mask").as<bool>(), ElementsAre(true, false, true));
    EXPECT_EQ(file.view("key").bytes.data(), file.view("key").bytes.data());  // decoded once
    file.forget("key");
    EXPECT_THAT(file.view("key").as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST_F(Npz, HoldsEmptyTensors) {
  const NamedArray arrays[] = {{"none", Array(DType::f64, {0, 3})}};
  for (const bool deflate : {false, true}) {
    if (deflate && !kHasZlib) continue;
    write_npz(path("a.npz"), arrays, {.deflate = deflate});
    EXPECT_EQ(read(path("a.npz:none")).shape, (Shape{0, 3}));
  }
}

TEST_F(Npz, IsAddressedByName) {
  written(false);
  EXPECT_THAT(read(path("a.npz:mask")).as<bool>(), ElementsAre(true, false, true));
  EXPECT_EQ(error_of([&] { read(path("a.npz")); }),
            path("a.npz") + ": holds 2 tensors; name one of them, " + path("a.npz") + ":NAME");
  EXPECT_EQ(error_of([&] { read(path("a.npz:value")); }),
            path("a.npz") + ": has no tensor \"value\", only \"key\", \"mask\"");
}

TEST_F(Npz, LongListsOfNamesAreCutShort) {
  std::vector<NamedArray> arrays;
  const Array one(DType::u8, {});
  for (char c = 'a'; c < 'i'; ++c) arrays.push_back({std::string(1, c), one});
  write_npz(path("a.npz"), arrays);
  EXPECT_THAT(error_of([&] { read(path("a.npz:z")); }), HasSubstr("\"f\" and 2 more"));
}

TEST_F(Npz, MayBeEmpty) {
  write_npz(path("a.npz"), {});
  const TensorFile file = parse(contents(path("a.npz")));
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_THAT(error_of([&] { file.view("x"); }), HasSubstr("only nothing"));
}

TEST_F(Npz, RefusesEveryOtherLength) {
  expect_no_length_but_this(written(false));
  if (kHasZlib) expect_no_length_but_this(written(true));
}

// No byte may be changed unnoticed, unless it is one that means nothing (versions, dates, ...).
TEST_F(Npz, NoticesDamage) {
  for (const bool deflate : {false, true}) {
    if (deflate && !kHasZlib) continue;
    const std::string file = written(deflate);
    const std::size_t data = file.find("NUMPY");
    for (std::size_t at = deflate ? kLocalBytes + 27 : data; at < file.find("PK\1\2"); ++at) {
      if (file.substr(at).starts_with("PK\3\4")) break;  // the elements of "key" end here
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      EXPECT_THAT(refusal(damaged), StartsWith("t.npz:key.npy: ")) << at;
    }
  }
}

TEST_F(Npz, RefusesTheSameNameTwice) {
  const Array one = array_of<float>({1}, {1});
  const NamedArray arrays[] = {{"x", one}, {"x", one}};
  EXPECT_EQ(error_of([&] { write_npz(path("a.npz"), arrays); }),
            "npz: two tensors are named \"x\"");
  EXPECT_FALSE(std::filesystem::exists(path("a.npz")));

  std::string file = written(false);
  const NamedArray distinct[] = {{"x", one}, {"y", one}};
  write_npz(path("b.npz"), distinct);
  file = contents(path("b.npz"));
  for (std::size_t at = file.find("y.npy"); at != file.npos; at = file.find("y.npy"))
    file[at] = 'x';
  EXPECT_EQ(refusal(file), "t.npz:x.npy: is in the file twice");
}

TEST_F(Npz, RefusesNamesTooLong) {
  const Array one = array_of<float>({1}, {1});
  const NamedArray arrays[] = {{std::string(65536, 'x'), one}};
  EXPECT_THAT(error_of([&] { write_npz(path("a.npz"), arrays); }), HasSubstr("longer than 65535"));
  EXPECT_TRUE(names().empty());
}

TEST_F(Npz, RefusesADirectoryThatLies) {
  const std::string file = written(false);
  const auto central = [&](std::size_t offset, auto value) {
    return refusal(patched(file, kCentralSignature, offset, value));
  };
  EXPECT_THAT(central(8, std::uint16_t{1}), HasSubstr("key.npy: is encrypted"));
  EXPECT_THAT(central(10, std::uint16_t{12}), HasSubstr("compression method 12 is neither"));
  EXPECT_THAT(central(16, std::uint32_t{7}), HasSubstr("damaged (CRC-32)"));
  EXPECT_THAT(central(42, std::uint32_t{1}), HasSubstr("no entry begins at 1"));
  EXPECT_THAT(central(42, std::uint32_t{0xfffffff0}), HasSubstr("does not lie inside the file"));
  EXPECT_THAT(central(28, std::uint16_t{0xffff}), HasSubstr("reaches past the directory"));
  EXPECT_THAT(central(30, std::uint16_t{8}), HasSubstr("an extra field of 24 bytes has only 4"));
  EXPECT_THAT(central(0, std::uint32_t{0}), HasSubstr("a directory entry is missing"));
  EXPECT_THAT(central(kCentralBytes, std::uint8_t{'K'}), HasSubstr("has another name"));
  EXPECT_THAT(central(kCentralBytes + 7 + 4, std::uint64_t{7}),
              HasSubstr("claims 7 bytes but stores 152"));
  // The zip64 field: sizes far outside the file, and too short a field.
  EXPECT_THAT(central(kCentralBytes + 7 + 12, std::uint64_t{1} << 62),
              HasSubstr("inside the file"));
  EXPECT_THAT(central(kCentralBytes + 7 + 2, std::uint16_t{8}), HasSubstr("zip64 sizes are miss"));

  const auto end64 = [&](std::size_t offset, std::uint64_t value) {
    return refusal(patched(file, kEnd64Signature, offset, value));
  };
  EXPECT_THAT(end64(32, 1'000'000'000), HasSubstr("1000000000 entries do not fit"));
  EXPECT_THAT(end64(32, 1), HasSubstr("bytes follow the last of 1 directory entries"));
  EXPECT_THAT(end64(40, std::uint64_t{1} << 63), HasSubstr("does not lie before its end"));
  EXPECT_THAT(end64(48, ~std::uint64_t{0}), HasSubstr("does not lie before its end"));
  EXPECT_THAT(refusal(patched(file, kEnd64Signature, 0, 0u)), HasSubstr("end record is missing"));
  EXPECT_THAT(refusal(patched(file, kLocator64Signature, 0, 0u)), HasSubstr("locator is missing"));
  EXPECT_THAT(refusal(patched(file, kLocator64Signature, 8, ~std::uint64_t{0})),
              HasSubstr("the zip64 end record at 18446744073709551615 does not lie inside"));
  EXPECT_THAT(refusal(file.substr(file.size() - kEndBytes)), HasSubstr("locator is missing"));
  EXPECT_THAT(refusal(patched(file, kEndSignature, 0, 0u)), HasSubstr("without its end"));
}

// A zip file of the oldest kind, as other programs write small ones, is read too.
TEST_F(Npz, NeedsNoZip64) {
  std::string file(kEndBytes, '\0');
  store_le(reinterpret_cast<std::byte*>(file.data()), kEndSignature);
  EXPECT_TRUE(parse(file).tensors().empty());
  file[4] = 1;
  EXPECT_THAT(refusal(file), HasSubstr("is part 2 of a zip file of several parts"));
}

TEST_F(Npz, RefusesEntriesThatOverlap) {
  std::string file = written(false);
  // The second directory entry points at the first one's data, under the first one's name.
  const std::size_t second = file.find("PK\1\2", file.find("PK\1\2") + 4);
  ASSERT_NE(second, file.npos);
  std::memcpy(file.data() + file.find("mask.npy", second), "key_.npy", 8);
  const std::size_t local = file.find("PK\3\4", 4);
  std::memcpy(file.data() + local + kLocalBytes, "key_.npy", 8);
  // "key" now claims to reach into it.
  const std::size_t extra = file.find("PK\1\2") + kCentralBytes + 7 + 4;
  const auto grow = [&](std::size_t at) {
    auto* bytes = reinterpret_cast<std::byte*>(file.data() + at);
    store_le(bytes, load_le<std::uint64_t>(Bytes(bytes, 8)) + 40);
  };
  grow(extra);
  grow(extra + 8);
  EXPECT_THAT(refusal(file), HasSubstr("t.npz:key_.npy: begins at "));
  grow(extra);
}

TEST_F(Npz, RefusesDataThatReachesIntoTheDirectory) {
  const Array one = array_of<float>({1}, {1});
  const NamedArray arrays[] = {{"x", one}};
  write_npz(path("a.npz"), arrays);
  std::string file = contents(path("a.npz"));
  auto* size = reinterpret_cast<std::byte*>(file.data() + file.find("PK\1\2") + kCentralBytes + 9);
  for (std::byte* number : {size, size + 8})
    store_le(number, load_le<std::uint64_t>(Bytes(number, 8)) + 1);
  EXPECT_THAT(refusal(file), HasSubstr("reach into the directory"));
}

TEST_F(Npz, SkipsWhatIsNoArrayAndChecksWhatIs) {
  ZipWriter writer(OutputFile{std::filesystem::path(path("a.npz"))});
  writer.add("notes.txt", {}, {}, false);
  writer.commit();
  EXPECT_TRUE(parse(contents(path("a.npz"))).tensors().empty());

  ZipWriter broken(OutputFile{std::filesystem::path(path("b.npz"))});
  const std::string header = format_npy_header(DType::f32, {1'000'000'000});
  broken.add("x.npy", std::as_bytes(std::span(header)), {}, false);
  broken.commit();
  EXPECT_EQ(refusal(contents(path("b.npz"))),
            "t.npz:x.npy: shape (1000000000,) of f32 needs 4000000000 bytes but 0 follow the "
            "header");
}

#if HEED_WITH_ZLIB
// What `content` deflates to, in a zip file that claims whatever the test likes.
std::string zip_of(std::string_view content, std::uint64_t claimed) {
  const auto data = deflated(std::as_bytes(std::span(content)));
  std::string file;
  const auto add = [&](auto value) {
    std::byte bytes[sizeof(value)];
    store_le(bytes, value);
    file.append(reinterpret_cast<char*>(bytes), sizeof(value));
  };
  const auto common = [&] {
    for (const std::uint16_t x : {20, 0, 8, 0, 33}) add(x);
    add(crc32(std::as_bytes(std::span(content))));
    add(static_cast<std::uint32_t>(data.size()));
    add(static_cast<std::uint32_t>(claimed));
    add(std::uint16_t{5});  // name
    add(std::uint16_t{0});  // extra
  };
  add(kLocalSignature);
  common();
  file += "x.npy";
  file.append(reinterpret_cast<const char*>(data.data()), data.size());
  const auto directory = static_cast<std::uint32_t>(file.size());
  add(kCentralSignature);
  add(std::uint16_t{20});
  common();
  for (int i = 0; i < 3; ++i) add(std::uint16_t{0});
  add(std::uint32_t{0});
  add(std::uint32_t{0});
  file += "x.npy";
  const auto size = static_cast<std::uint32_t>(file.size()) - directory;
  add(kEndSignature);
  for (const std::uint16_t x : {0, 0, 1, 1}) add(x);
  add(size);
  add(directory);
  add(std::uint16_t{0});
  return file;
}

TEST_F(Npz, RefusesBombs) {
  const std::string zeros = format_npy_header(DType::u8, {100000}) + std::string(100000, '\0');
  EXPECT_EQ(parse(zip_of(zeros, zeros.size())).view("x").size(), 100000u);
  EXPECT_THAT(refusal(zip_of(zeros, zeros.size()), {.max_inflated_bytes = 1000}),
              HasSubstr("would inflate to 100128 bytes, more than the limit of 1000"));
  // More than the claim, less than the claim, a claim that no deflated data can meet.
  const std::string longer = zeros + "x";
  EXPECT_THAT(refusal(zip_of(longer, zeros.size())), HasSubstr("holds more than it claims"));
  const std::string shorter = zeros.substr(0, zeros.size() - 1);
  EXPECT_THAT(refusal(zip_of(shorter, zeros.size())),
              HasSubstr("claims 100000 bytes of elements but holds 99999"));
  EXPECT_THAT(refusal(zip_of(zeros, 0xfffffff0)), HasSubstr("compressed bytes can hold"));
  EXPECT_THAT(refusal(zip_of("", 0)), HasSubstr("not a .npy file"));
  EXPECT_THAT(refusal(zip_of(zeros.substr(0, 50), 50)), HasSubstr("the header claims 118 bytes"));
  EXPECT_THAT(refusal(zip_of(zeros, 50)), HasSubstr("its header alone takes 128"));
}

TEST_F(Npz, RefusesBytesAfterTheCompressedData) {
  Bytes nothing;
  std::vector<std::byte> data = deflated(nothing);
  data.push_back(std::byte{0});
  Inflater inflater(data, "t");
  EXPECT_EQ(error_of([&] { inflater.expect_end(); }),
            "t: bytes follow the end of the compressed data");
}

TEST_F(Npz, DeflatesMoreThanOneBuffer) {
  Array noise(DType::u8, {3'000'000});
  std::uint32_t state = 1;
  for (std::uint8_t& x : noise.as<std::uint8_t>())
    x = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  const NamedArray arrays[] = {{"noise", noise}};
  write_npz(path("a.npz"), arrays, {.deflate = true});
  EXPECT_EQ(read(path("a.npz")).bytes, noise.bytes);
}
#else
TEST_F(Npz, RefusesCompressionWithoutZlib) {
  EXPECT_THAT(error_of([&] { written(true); }), HasSubstr("this build of heed has no zlib"));
  EXPECT_TRUE(names().empty());
}
#endif

TEST(Crc32, IsTheOneOfZip) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes_of("6789"), crc32(bytes_of("12345"))), 0xcbf43926u);
  EXPECT_EQ(crc32({}, 0xcbf43926u), 0xcbf43926u);
}

}  // namespace
}  // namespace heed::io
