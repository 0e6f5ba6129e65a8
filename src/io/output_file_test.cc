#include "io/test_support.h"

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

namespace heed::io {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class OutputFileTest : public ScratchTest {};

TEST_F(OutputFileTest, AppearsWholeOnCommit) {
  put(path("f"), "old");
  OutputFile file{fs::path(path("f"))};
  file.write("new ");
  EXPECT_EQ(contents(path("f")), "old");
  file.write("text");
  file.commit();
  EXPECT_EQ(contents(path("f")), "new text");
  EXPECT_THAT(names(), UnorderedElementsAre("f"));
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    OutputFile file{fs::path(path("f"))};
    file.write("half");
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, MovesAndEnds) {
  OutputFile a{fs::path(path("a"))};
  OutputFile b(std::move(a));
  b.write("b");
  a = std::move(b);
  a.commit();
  EXPECT_EQ(contents(path("a")), "b");
}

TEST_F(OutputFileTest, RefusesAFolderAndAMissingOne) {
  EXPECT_EQ(error_of([&] { write_file(folder_, "x"); }),
            folder_.string() + ": is a folder, not a file");
  EXPECT_THAT(error_of([&] { write_file(path("none/f"), "x"); }),
              HasSubstr("none/f: cannot write here: No such file"));
}

TEST_F(OutputFileTest, WritesIntoAnOpenStreamAndLeavesItOpen) {
  std::FILE* stream = std::tmpfile();
  ASSERT_NE(stream, nullptr);
  {
    OutputFile file(stream, "stream");
    file.write("x");
    file.commit();
  }
  std::rewind(stream);
  EXPECT_EQ(std::fgetc(stream), 'x');
  std::fclose(stream);
}

#if !defined(_WIN32)
TEST_F(OutputFileTest, KeepsPermissionsAndLinks) {
  write_file(path("target"), "old");
  fs::permissions(path("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", path("link"));
  fs::create_symlink("link", path("link2"));
  write_file(path("link2"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link2")));
  EXPECT_EQ(contents(path("target")), "new");
  EXPECT_EQ(fs::status(path("target")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(names(), UnorderedElementsAre("target", "link", "link2"));
}

TEST_F(OutputFileTest, FollowsALinkThatLeadsNowhereYet) {
  fs::create_symlink("later", path("link"));
  write_file(path("link"), "x");
  EXPECT_EQ(contents(path("later")), "x");
  EXPECT_TRUE(fs::is_symlink(path("link")));
}

TEST_F(OutputFileTest, RefusesLinksInACircle) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_THAT(error_of([&] { write_file(path("a"), "x"); }), HasSubstr("lead in a circle"));
}

TEST_F(OutputFileTest, WritesDevicesInPlace) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THAT(error_of([&] { write_file("/dev/full", "x"); }),
              HasSubstr("/dev/full: writing failed: No space left"));
  EXPECT_THAT(error_of([&] { write_file("/dev/full", std::string(1 << 20, 'x')); }),
              HasSubstr("/dev/full: writing failed: No space left"));
}

TEST_F(OutputFileTest, ReadsAndWritesPipes) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  // Opened for both, so that neither end waits for the other.
  std::FILE* both = std::fopen(path("pipe").c_str(), "r+b");
  ASSERT_NE(both, nullptr);
  write_npy(path("pipe"), array_of<float>({1}, {7}));
  std::vector<std::byte> got(64 * 2 + 4);
  EXPECT_EQ(std::fread(got.data(), 1, got.size(), both), got.size());
  std::fclose(both);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(TensorFile(std::move(got), "pipe").view("").as<float>()[0], 7);
}
#endif

}  // namespace
}  // namespace heed::io
