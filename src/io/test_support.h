// What the tests of this folder share: a scratch folder, bytes and files, and errors by their text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "heed/io.h"

namespace heed::io {

// A folder of its own for each test, gone afterwards.
class ScratchTest : public ::testing::Test {
 protected:
  ScratchTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("heed-") + test->test_suite_name() + "-" + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ScratchTest() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      found.push_back(entry.path().filename().string());
    return found;
  }

  std::filesystem::path folder_;
};

inline std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// What `f` refuses with; fails the test when it accepts.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// Every proper prefix of a file must be refused, and so must the file with one byte more.
inline void expect_no_length_but_this(std::string_view file, const ReadOptions& options = {}) {
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_THROW(TensorFile(bytes_of(file.substr(0, length)), "cut", options), Error) << length;
  EXPECT_THROW(TensorFile(bytes_of(std::string(file) + '\0'), "long", options), Error);
}

}  // namespace heed::io
