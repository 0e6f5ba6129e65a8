#include "io/test_support.h"

namespace heed::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class Sharded : public ScratchTest {
 protected:
  std::string index() const { return path("model.safetensors.index.json"); }

  std::string refusal(std::string_view json) {
    put(index(), json);
    const std::string message = error_of([&] { TensorFile{std::filesystem::path(index())}; });
    EXPECT_TRUE(message.starts_with(path(""))) << message;
    return message.substr(path("").size());
  }

  const Array one_ = array_of<float>({4}, {1, 2, 3, 4});
  const Array two_ = array_of<float>({4}, {5, 6, 7, 8});
  const Array three_ = array_of<float>({1}, {9});
};

TEST_F(Sharded, WritesWhatItReads) {
  const NamedArray arrays[] = {{"one", one_}, {"two", two_}, {"three", three_}};
  write_sharded_safetensors(index(), arrays, 20);
  EXPECT_THAT(names(), UnorderedElementsAre("model.safetensors.index.json",
                                            "model-00001-of-00002.safetensors",
                                            "model-00002-of-00002.safetensors"));
  const TensorFile file{std::filesystem::path(index())};
  EXPECT_EQ(file.format(), "safetensors index");
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("total_size", "36")));
  EXPECT_THAT(file.view("one").as<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(file.view("two").as<float>(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(read(index() + ":three").as<float>(), ElementsAre(9));
}

TEST_F(Sharded, ATensorLargerThanAShardGetsOneOfItsOwn) {
  const NamedArray arrays[] = {{"one", one_}, {"two", two_}};
  write_sharded_safetensors(index(), arrays, 1);
  EXPECT_EQ(names().size(), 3u);
  EXPECT_THAT(error_of([&] { write_sharded_safetensors(path("x.json"), arrays, 1); }),
              HasSubstr("x.json: the name of an index ends in .safetensors.index.json"));
}

TEST_F(Sharded, RefusesShardsElsewhere) {
  for (const char* name :
       {"../x.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "C:x", "x\\u0000"}) {
    EXPECT_THAT(refusal(std::string(R"({"weight_map":{"w":")") + name + "\"}}"),
                HasSubstr("is not the name of a file beside it"))
        << name;
  }
}

TEST_F(Sharded, RefusesWhatIsNotAnIndex) {
  EXPECT_THAT(refusal("{}"), HasSubstr("index.json: weight_map is missing"));
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON at byte"));
  EXPECT_THAT(refusal(" \n"), HasSubstr("is none of .npy"));
  EXPECT_THAT(refusal(R"({"tokens":[]})"), HasSubstr("\"tokens\" is not expected here"));
  EXPECT_THAT(refusal(R"({"weight_map":1})"), HasSubstr("weight_map: 1 is not expected"));
  EXPECT_THAT(refusal(R"({"weight_map":"x"})"), HasSubstr("\"x\" is not expected"));
  EXPECT_THAT(refusal(R"({"weight_map":[]})"), HasSubstr("an array is not expected"));
  EXPECT_THAT(refusal(R"({"weight_map":{"w":1}})"), HasSubstr("weight_map: 1 is not expected"));
  EXPECT_THAT(refusal(R"({"weight_map":{"w":{}}})"), HasSubstr("an object is not expected"));
  EXPECT_THAT(refusal(R"({"weight_map":{"w":"x","w":"x"}})"), HasSubstr("\"w\" is given twice"));
  EXPECT_THAT(refusal(R"({"weight_map":{},"weight_map":{}})"),
              HasSubstr("\"weight_map\" is given twice"));
  EXPECT_THAT(refusal(R"({"metadata":{"a":"b"},"weight_map":{"w":"none"}})"),
              HasSubstr("none: no such file"));
  // Only a file can have shards beside it.
  EXPECT_THROW(TensorFile(bytes_of(R"({"weight_map":{}})"), "memory"), Error);
}

TEST_F(Sharded, RefusesAShardThatIsNotWhatTheIndexSays) {
  const NamedArray arrays[] = {{"one", one_}};
  write_safetensors(path("a.safetensors"), arrays);
  write_npy(path("b.npy"), one_);
  EXPECT_THAT(refusal(R"({"weight_map":{"two":"a.safetensors"}})"),
              HasSubstr("a.safetensors: has no tensor \"two\", only \"one\""));
  EXPECT_THAT(refusal(R"({"weight_map":{"one":"b.npy"}})"),
              HasSubstr("\"b.npy\" is not a safetensors file"));
}

TEST_F(Sharded, RefusesAnIndexThatNamesItself) {
  EXPECT_THAT(refusal(R"({"weight_map":{"w":"model.safetensors.index.json"}})"),
              HasSubstr("index.json\" is not a safetensors file"));
}

}  // namespace
}  // namespace heed::io
