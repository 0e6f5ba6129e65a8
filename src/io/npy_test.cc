#include <bit>

#include "io/npy_header.h"
#include "io/test_support.h"

namespace heed::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A .npy of the given version around a header text and elements.
std::string npy(std::string_view header, std::string_view elements, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0'};
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(header.size() >> 8 * i);
  return file.append(header).append(elements);
}

std::string header(std::string_view descr, std::string_view shape, bool fortran = false) {
  return std::string("{'descr': '").append(descr) +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

Array parse(std::string_view file, const ReadOptions& options = {}) {
  return TensorFile(bytes_of(file), "t.npy", options).read("");
}

std::string refusal(std::string_view file, const ReadOptions& options = {}) {
  return error_of([&] { parse(file, options); });
}

using namespace std::string_view_literals;

TEST(Npy, ReadsEveryVersion) {
  for (const char version : {1, 2, 3}) {
    const Array a = parse(npy(header("<i2", "(2,)"), "\x01\x00\xff\xff"sv, version));
    EXPECT_THAT(a.as<std::int16_t>(), ElementsAre(1, -1));
  }
}

TEST(Npy, ReadsEveryElementType) {
  const std::pair<const char*, DType> types[] = {
      {"<f2", DType::f16}, {"<f4", DType::f32}, {"<f8", DType::f64}, {"|i1", DType::i8},
      {"<i2", DType::i16}, {"<i4", DType::i32}, {"<i8", DType::i64}, {"|u1", DType::u8},
      {"<u2", DType::u16}, {"<u4", DType::u32}, {"=u8", DType::u64}, {"|b1", DType::boolean},
      {"|V2", DType::bf16}};
  for (const auto& [descr, dtype] : types) {
    const std::string zero(size_of(dtype), '\0');
    const Array a = parse(npy(header(descr, "()"), zero), {.bf16_from_v2 = true});
    EXPECT_EQ(a.dtype, dtype) << descr;
    EXPECT_EQ(a.shape, Shape{}) << descr;
    EXPECT_EQ(a.bytes.size(), zero.size()) << descr;
  }
}

TEST(Npy, SwapsForeignByteOrder) {
  EXPECT_THAT(parse(npy(header(">i4", "(2,)"), "\0\0\0\1\1\2\3\4"sv)).as<std::int32_t>(),
              ElementsAre(1, 0x01020304));
  EXPECT_THAT(parse(npy(header("<i4", "(2,)"), "\1\0\0\0\4\3\2\1"sv)).as<std::int32_t>(),
              ElementsAre(1, 0x01020304));
  EXPECT_THAT(parse(npy(header(">f8", "()"), "\x3f\xf8\0\0\0\0\0\0"sv)).as<double>(),
              ElementsAre(1.5));
}

TEST(Npy, TransposesFortranOrder) {
  EXPECT_THAT(parse(npy(header("|i1", "(2, 3)", true), "\1\4\2\5\3\6")).as<std::int8_t>(),
              ElementsAre(1, 2, 3, 4, 5, 6));
  // Element (i, j, k) of (2, 2, 2) holds 4i + 2j + k, stored at i + 2j + 4k; big-endian too.
  const auto file = npy(header(">i2", "(2, 2, 2)", true), "\0\0\0\4\0\2\0\6\0\1\0\5\0\3\0\7"sv);
  EXPECT_THAT(parse(file).as<std::int16_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(parse(npy(header("|i1", "(0, 3)", true), "")).shape, (Shape{0, 3}));
}

TEST(Npy, BooleansAreZeroOrOne) {
  EXPECT_THAT(parse(npy(header("|b1", "(3,)"), "\0\1\xff"sv)).as<bool>(),
              ElementsAre(false, true, true));
}

TEST(Npy, BfloatOnlyOnRequest) {
  const std::string file = npy(header("<V2", "(1,)"), "\x80\x3f");
  EXPECT_THAT(refusal(file), HasSubstr("\"<V2\" are not numbers heed reads (two-byte void"));
  EXPECT_EQ(to_float(parse(file, {.bf16_from_v2 = true}).as<bf16>()[0]), 1.0f);
}

TEST(Npy, AcceptsOtherSpellingsOfTheSameHeader) {
  EXPECT_EQ(parse(npy("{\"shape\":(1L,2),'fortran_order':False,\"descr\":'|u1'}", "ab")).shape,
            (Shape{1, 2}));
}

TEST(Npy, RefusesWhatIsNotAHeader) {
  EXPECT_EQ(refusal(""), "t.npy: is empty");
  const auto bad = [](std::string_view text) { return refusal(npy(text, "1234")); };
  EXPECT_EQ(bad(""), "t.npy: header: expected '{' but found the end at character 0");
  EXPECT_THAT(bad("{'descr' '<f4'}"), HasSubstr("expected ':' but found \"'\" at character 9"));
  EXPECT_THAT(bad("{'descr': '<f4"), HasSubstr("a string does not end"));
  EXPECT_THAT(bad("{'descr': '<\\x66'}"), HasSubstr("escapes are not understood"));
  EXPECT_THAT(bad("{'descr': 4}"), HasSubstr("expected a string but found \"4\""));
  EXPECT_THAT(bad("{'descr': [('a', '<f4')]}"), HasSubstr("records of several fields"));
  EXPECT_THAT(bad("{'fortran_order': maybe}"), HasSubstr("expected True or False"));
  EXPECT_THAT(bad("{'shape': 4}"), HasSubstr("expected '('"));
  EXPECT_THAT(bad("{'shape': (-1,)}"), HasSubstr("expected a size but found \"-\""));
  EXPECT_THAT(bad("{'shape': (1 2)}"), HasSubstr("expected ','"));
  EXPECT_THAT(bad("{'shape': (99999999999999999999,)}"), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(bad("{'colour': 1}"), HasSubstr("unknown key \"colour\""));
  EXPECT_THAT(bad("{'\x1b\xff': 1}"), HasSubstr("unknown key \"\\x1b\\xff\""));
  EXPECT_THAT(bad("{'descr': '<f4', 'descr': '<f4'}"), HasSubstr("'descr' is given twice"));
  EXPECT_THAT(bad("{'descr': '<f4', 'shape': ()}"), HasSubstr("'fortran_order' is missing"));
  EXPECT_THAT(bad("{'fortran_order': True, 'shape': ()}"), HasSubstr("'descr' is missing"));
  EXPECT_THAT(bad("{'descr': '<f4', 'fortran_order': True}"), HasSubstr("'shape' is missing"));
  EXPECT_THAT(bad(header("<f4", "()") + "x"), HasSubstr("expected the end but found \"x\""));
  std::string axes = "(";
  for (int i = 0; i < 65; ++i) axes += "1,";
  EXPECT_THAT(bad(header("<f4", axes + ")")), HasSubstr("more than 64 axes"));
}

TEST(Npy, RefusesElementsThatAreNotNumbers) {
  for (const char* descr : {"<c8", "<U4", "|S4", "|O", "<f16", "<M8[s]", "f4", "|f4", "", "<"})
    EXPECT_THAT(refusal(npy(header(descr, "()"), "")), HasSubstr("are not numbers heed reads"));
}

TEST(Npy, RefusesShapesTheFileDoesNotHold) {
  EXPECT_EQ(refusal(npy(header("<f4", "(2, 3)"), std::string(20, 'x'))),
            "t.npy: shape (2, 3) of f32 needs 24 bytes but 20 follow the header");
  EXPECT_THAT(refusal(npy(header("<f4", "(1000000000,)"), "x")), HasSubstr("needs 4000000000"));
  EXPECT_THAT(refusal(npy(header("<f4", "(4294967296, 4294967296)"), "x")),
              HasSubstr("t.npy: 4294967296 x 4294967296 elements do not fit in memory"));
  EXPECT_THAT(refusal(npy(header("<f8", "(4611686018427387904,)"), "x")),
              HasSubstr("do not fit in memory"));
  EXPECT_THAT(refusal(npy(header("<f8", "(0, 4294967296, 4294967296)"), "")),
              HasSubstr("do not fit in memory"));
}

TEST(Npy, RefusesEveryOtherLength) {
  expect_no_length_but_this(npy(header("<f4", "(2,)"), "12345678"));
  expect_no_length_but_this(npy(header(">f4", "(2,)", true), "12345678", 2));
}

TEST(Npy, RefusesOtherVersions) {
  EXPECT_EQ(refusal(npy(header("<f4", "()"), "1234", 4)),
            "t.npy: .npy version 4.0 is not 1.0, 2.0 or 3.0");
  EXPECT_THAT(refusal("\x93NUMPY\x01\x02"), HasSubstr("version 1.2"));
}

class NpyFile : public ScratchTest {};

TEST_F(NpyFile, WritesWhatItReads) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::boolean, DType::u8}) {
    Array a(dtype, {2, 1, 3});
    a.bytes[0] = std::byte{1};
    write_npy(path("a.npy"), a);
    const Array b = read(path("a.npy"), {.bf16_from_v2 = true});
    EXPECT_EQ(b.dtype, dtype);
    EXPECT_EQ(b.shape, a.shape);
    EXPECT_EQ(b.bytes, a.bytes);
  }
  EXPECT_THAT(names(), ElementsAre("a.npy"));
}

TEST_F(NpyFile, HeaderIsWhatNumPyWrites) {
  const std::string text = format_npy_header(DType::f32, {2, 3});
  EXPECT_EQ(text.size(), 128u);
  EXPECT_THAT(text, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   "));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_THAT(format_npy_header(DType::boolean, {1}), HasSubstr("'|b1'"));
  EXPECT_THAT(format_npy_header(DType::bf16, {1}), HasSubstr("'<V2'"));
  EXPECT_THROW(format_npy_header(DType::f32, Shape(65, 1)), Error);
}

TEST_F(NpyFile, IsReadInPlaceWhereItCan) {
  write_npy(path("a.npy"), array_of<double>({3}, {1, 2, 3}));
  const TensorFile file{std::filesystem::path(path("a.npy"))};
  EXPECT_EQ(file.format(), "npy");
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.view("").bytes.data(), file.view("").bytes.data());
  EXPECT_THAT(file.view("").as<double>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(error_of([&] { file.view("x"); }),
              HasSubstr("has no tensor \"x\", only one array without a name"));
}

TEST_F(NpyFile, StreamsInPieces) {
  const Array a = array_of<float>({4}, {1, 2, 3, 4});
  const std::span<const std::byte> bytes = a.bytes;
  NpyWriter writer(OutputFile(path("a.npy")), DType::f32, {4});
  writer.append(bytes.first(8));
  EXPECT_FALSE(std::filesystem::exists(path("a.npy")));
  EXPECT_EQ(error_of([&] { writer.commit(); }), "npy: 8 bytes of the array have not come");
  EXPECT_EQ(error_of([&] { writer.append(bytes); }),
            "npy: 16 bytes more come but only 8 are missing");
  writer.append(bytes.subspan(8));
  writer.commit();
  EXPECT_EQ(read(path("a.npy")).bytes, a.bytes);
}

TEST_F(NpyFile, ErrorsNameTheFile) {
  EXPECT_EQ(error_of([&] { read(path("none.npy")); }), path("none.npy") + ": no such file");
  EXPECT_EQ(error_of([&] { read(folder_.string()); }),
            folder_.string() + ": is a folder, not a file");
  put(path("text"), "hello");
  EXPECT_THAT(error_of([&] { read(path("text")); }),
              HasSubstr("text: is none of .npy, .npz, safetensors or a"));
}

TEST_F(NpyFile, AddressesMayContainColons) {
  const std::string odd = path("a:b.npy");
  write_npy(odd, array_of<float>({1}, {7}));
  EXPECT_EQ(parse_address(odd).name, "");
  EXPECT_EQ(parse_address(odd + ":x:y").file, odd);
  EXPECT_EQ(parse_address(odd + ":x:y").name, "x:y");
  EXPECT_EQ(parse_address("nowhere:x").file, "nowhere:x");
  EXPECT_EQ(read(odd).as<float>()[0], 7);
}

}  // namespace
}  // namespace heed::io
