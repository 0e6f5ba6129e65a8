#include "io/bytes.h"
#include "io/test_support.h"

namespace heed::io {
namespace {

using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string safetensors(std::string_view header, std::string_view data = "") {
  std::byte length[8];
  store_le(length, std::uint64_t{header.size()});
  return std::string(reinterpret_cast<char*>(length), 8).append(header).append(data);
}

TensorFile parse(std::string_view file) {
  return TensorFile(bytes_of(file), "m.safetensors");
}

std::string refusal(std::string_view header, std::string_view data = "") {
  return error_of([&] { parse(safetensors(header, data)); });
}

constexpr std::string_view kTwo =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
    R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
constexpr std::string_view kTwoData = "\0\0\x80\x3fxy"sv;

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const TensorFile file = parse(safetensors(kTwo, kTwoData));
  EXPECT_EQ(file.format(), "safetensors");
  EXPECT_EQ(file.tensors()[0].name, "b");  // in the order of the header
  EXPECT_THAT(file.view("a").as<float>(), ElementsAre(1.0f));
  EXPECT_THAT(file.view("b").as<std::uint8_t>(), ElementsAre('x', 'y'));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt")));
  EXPECT_TRUE(parse(safetensors("{}   ")).tensors().empty());
}

TEST(Safetensors, ReadsEveryElementType) {
  for (const auto& [name, dtype] :
       {std::pair("F64", DType::f64), std::pair("F32", DType::f32), std::pair("F16", DType::f16),
        std::pair("BF16", DType::bf16), std::pair("I64", DType::i64), std::pair("I32", DType::i32),
        std::pair("I16", DType::i16), std::pair("I8", DType::i8), std::pair("U64", DType::u64),
        std::pair("U32", DType::u32), std::pair("U16", DType::u16), std::pair("U8", DType::u8),
        std::pair("BOOL", DType::boolean)}) {
    const std::size_t width = size_of(dtype);
    const std::string header = std::string(R"({"x":{"dtype":")") + name +
                               R"(","shape":[1],"data_offsets":[0,)" + std::to_string(width) +
                               "]}}";
    const TensorFile file = parse(safetensors(header, std::string(width, '\1')));
    EXPECT_EQ(file.info("x").dtype, dtype);
    EXPECT_EQ(file.view("x").bytes.size(), width);
  }
}

// Elements that the header's length leaves unaligned are moved, not read across the boundary.
TEST(Safetensors, ReadsUnalignedTensors) {
  for (const std::string_view pad : {"", " ", "  ", "   ", "    "}) {
    const TensorFile file = parse(safetensors(std::string(kTwo).append(pad), kTwoData));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.view("a").bytes.data()) % 4, 0u);
    EXPECT_THAT(file.view("a").as<float>(), ElementsAre(1.0f));
  }
}

TEST(Safetensors, RefusesEveryOtherLength) {
  expect_no_length_but_this(safetensors(kTwo, kTwoData));
}

TEST(Safetensors, RefusesAHeaderLongerThanTheFileOrTheLimit) {
  EXPECT_THAT(error_of([] { parse("\xff\xff\xff\xff\0\0\0\0{}"sv); }),
              HasSubstr("the header claims 4294967295 bytes but 2 follow"));
  std::string huge = safetensors("{}");
  store_le(reinterpret_cast<std::byte*>(huge.data()), std::uint64_t{100'000'001});
  huge.resize(8 + 100'000'001, ' ');
  EXPECT_THAT(error_of([&] { parse(huge); }), HasSubstr("100000001 bytes, more than 100000000"));
  EXPECT_THAT(error_of([] { parse("\xff\xff\xff\xff\xff\xff\xff\xff{}"); }),
              HasSubstr("is none of .npy, .npz, safetensors"));
}

TEST(Safetensors, RefusesWhatIsNotTheOneRightForm) {
  EXPECT_THAT(refusal("{"), HasSubstr("m.safetensors: header: not JSON at byte "));
  EXPECT_THAT(refusal("{}{}"), HasSubstr("not JSON at byte 3"));
  EXPECT_THAT(refusal("{\"\xff\":1}"), HasSubstr("not JSON at byte 3"));
  EXPECT_THAT(refusal(R"({"x":1})"), HasSubstr("header: 1 is not expected here"));
  EXPECT_THAT(refusal(R"({"x":-1})"), HasSubstr("-1 is not expected here"));
  EXPECT_THAT(refusal(R"({"x":1.5})"), HasSubstr("1.5 is not expected here"));
  EXPECT_THAT(refusal(R"({"x":null})"), HasSubstr("null is not expected here"));
  EXPECT_THAT(refusal(R"({"x":true})"), HasSubstr("a boolean is not expected here"));
  EXPECT_THAT(refusal(R"({"x":"y"})"), HasSubstr("\"y\" is not expected here"));
  EXPECT_THAT(refusal(R"({"x":[]})"), HasSubstr("an array is not expected here"));
  const auto tensor = [](std::string_view fields) {
    return refusal(std::string(R"({"x":{)").append(fields).append("}}"), "1234");
  };
  EXPECT_THAT(tensor(R"("color":1)"), HasSubstr("\"x\", color: is not a field of a tensor"));
  EXPECT_THAT(tensor(R"("dtype":1)"), HasSubstr("\"x\", dtype: 1 is not expected here"));
  EXPECT_THAT(tensor(R"("dtype":[])"), HasSubstr("an array is not expected"));
  EXPECT_THAT(tensor(R"("dtype":"F32","dtype":"F32")"), HasSubstr("dtype: is given twice"));
  EXPECT_THAT(tensor(R"("shape":[],"shape":[])"), HasSubstr("shape: is given twice"));
  EXPECT_THAT(tensor(R"("shape":{})"), HasSubstr("an object is not expected"));
  EXPECT_THAT(tensor(R"("shape":"4")"), HasSubstr("shape: \"4\" is not expected"));
  EXPECT_THAT(tensor(R"("shape":4)"), HasSubstr("shape: 4 is not expected"));
  EXPECT_THAT(tensor(R"("shape":[[4]])"), HasSubstr("an array is not expected"));
  EXPECT_THAT(tensor(R"("shape":["4"])"), HasSubstr("\"4\" is not expected"));
  EXPECT_THAT(tensor(R"("shape":[-4])"), HasSubstr("-4 is not expected"));
  EXPECT_THAT(tensor(R"("shape":[18446744073709551616])"), HasSubstr("is not expected here"));
  EXPECT_THAT(tensor(R"("data_offsets":[0,4,8])"), HasSubstr("has more than 2 numbers"));
  EXPECT_THAT(tensor(R"("dtype":"F32","data_offsets":[0,4])"), HasSubstr("shape is missing"));
  EXPECT_THAT(tensor(R"("shape":[],"data_offsets":[0,4])"), HasSubstr("dtype is missing"));
  EXPECT_THAT(tensor(R"("dtype":"F32","shape":[])"), HasSubstr("data_offsets are missing"));
  EXPECT_THAT(tensor(R"("dtype":"F32","shape":[],"data_offsets":[4])"), HasSubstr("are missing"));
  EXPECT_THAT(tensor(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"),
              HasSubstr("\"x\": dtype \"F8_E4M3\" is not one heed reads (F64 F32"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_THAT(tensor("\"shape\":[" + ones + "]"), HasSubstr("has more than 64 numbers"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})"), HasSubstr("1 is not expected"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":[]}})"), HasSubstr("an array is not expected"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":"1","a":"2"}})"), HasSubstr("a: is given twice"));
}

TEST(Safetensors, RefusesDeepNestingWithoutFollowingIt) {
  EXPECT_THAT(refusal(R"({"x":)" + std::string(1'000'000, '{')), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(R"({"x":)" + std::string(1'000'000, '[')), HasSubstr("an array is not"));
}

TEST(Safetensors, RefusesOffsetsThatLie) {
  const auto two = [](std::string_view shape, std::string_view a, std::string_view b) {
    return refusal(std::string(R"({"a":{"dtype":"U8","shape":)") + std::string(shape) +
                       R"(,"data_offsets":)" + std::string(a) +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(b) + "}}",
                   "12345678");
  };
  EXPECT_EQ(two("[4]", "[0,4]", "[3,7]"),
            "m.safetensors: \"b\" begins at byte 3 but the tensor before it ends at 4");
  EXPECT_EQ(two("[4]", "[0,4]", "[5,9]"),
            "m.safetensors: \"b\" ends at byte 9 of the data, which has 8");
  EXPECT_EQ(two("[3]", "[0,3]", "[4,8]"),
            "m.safetensors: nothing lies between bytes 3 and 4 of the data, where \"b\" begins");
  EXPECT_EQ(two("[3]", "[0,3]", "[3,7]"),
            "m.safetensors: the tensors end at byte 7 of the data, which has 8");
  EXPECT_THAT(two("[5]", "[0,4]", "[4,8]"),
              HasSubstr("shape (5,) of u8 needs 5 bytes but data_offsets are 0 to 4"));
  EXPECT_THAT(two("[4]", "[4,0]", "[4,8]"), HasSubstr("data_offsets are 4 to 0"));
  EXPECT_THAT(two("[4294967296,4294967296]", "[0,4]", "[4,8]"), HasSubstr("do not fit in memory"));
  EXPECT_THAT(two("[0,4294967296,4294967296]", "[0,0]", "[0,4]"), HasSubstr("do not fit"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                      R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("\"a\" is in the header twice"));
}

class SafetensorsFile : public ScratchTest {};

TEST_F(SafetensorsFile, WritesWhatItReads) {
  const Array narrow = array_of<std::uint8_t>({3}, {1, 2, 3});
  const Array wide = array_of<double>({1, 2}, {0.5, -0.5});
  const Array half = convert(wide, DType::bf16);
  const NamedArray arrays[] = {{"narrow", narrow}, {"half \"1\"", half}, {"wide", wide}};
  write_safetensors(path("m.safetensors"), arrays, {{"by", "heed"}});
  const TensorFile file{std::filesystem::path(path("m.safetensors"))};
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("by", "heed")));
  ASSERT_EQ(file.tensors().size(), 3u);
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(file.info(name).dtype, array.dtype);
    EXPECT_EQ(file.info(name).shape, array.shape);
    EXPECT_EQ(file.read(name).bytes, Array(array).bytes);
  }
  // Mapped, aligned, so all in place: in the order wide, half, narrow, without gaps.
  EXPECT_EQ(file.view("wide").bytes.data() + 16, file.view("half \"1\"").bytes.data());
  EXPECT_EQ(file.view("half \"1\"").bytes.data() + 4, file.view("narrow").bytes.data());
}

TEST_F(SafetensorsFile, RefusesNamesItCannotWrite) {
  const Array one = array_of<float>({1}, {1});
  const NamedArray twice[] = {{"x", one}, {"x", one}};
  const NamedArray reserved[] = {{"__metadata__", one}};
  const NamedArray bytes[] = {{"\xff", one}};
  const auto writing = [&](std::span<const NamedArray> arrays) {
    return error_of([&] { write_safetensors(path("m"), arrays); });
  };
  EXPECT_EQ(writing(twice), "safetensors: two tensors are named \"x\"");
  EXPECT_EQ(writing(reserved), "safetensors: a tensor cannot be named __metadata__");
  EXPECT_EQ(writing(bytes), "safetensors: a name is not UTF-8");
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace heed::io
