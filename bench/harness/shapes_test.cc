#include "bench/harness/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "heed/error.h"

namespace heed::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> labels(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const Shape& shape : select_shapes(names)) result.push_back(label_of(shape));
  return result;
}

Shape shape(const std::string& name) {
  return select_shapes(std::vector{name}).front();
}

TEST(BenchShapes, EveryLabelIsUsedOnce) {
  std::set<std::string> seen;
  for (const Shape& s : all_shapes()) EXPECT_TRUE(seen.insert(label_of(s)).second) << label_of(s);
  EXPECT_EQ(seen.size(), 23u);  // P1 P2 P2c P3c P4c P5 P6 P7, three D in four types, S1, L1 L5
}

TEST(BenchShapes, ANameSelectsEveryTypeAndALabelOne) {
  EXPECT_THAT(labels({"D1"}), ElementsAre("D1-f32", "D1-f16", "D1-bf16", "D1-i8"));
  EXPECT_THAT(labels({"D2-f16"}), ElementsAre("D2-f16"));
  EXPECT_THAT(labels({"P7", "P2", "P2"}), ElementsAre("P2", "P7"));  // table order, each once
  EXPECT_EQ(labels({}).size(), all_shapes().size());
}

TEST(BenchShapes, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    labels({"P1", "P9"});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("'P9'"));
    EXPECT_THAT(e.what(), HasSubstr("P1, P2, P2c, P3c, P4c, P5, P6, P7, D1, D2, D3, S1, L1, L5"));
  }
  EXPECT_THROW(labels({""}), Error);
  EXPECT_THROW(labels({"p1"}), Error);
}

TEST(BenchShapes, UsefulWorkIsCountedByHand) {
  EXPECT_EQ(useful_flops(shape("P1")), 4.0 * 512 * 512 * 64 * 8);
  EXPECT_EQ(useful_flops(shape("P2c")), useful_flops(shape("P2")) / 2);
  EXPECT_EQ(useful_flops(shape("P3c")), 2.0 * 2048 * 2048 * 128 * 32);
  EXPECT_EQ(useful_flops(shape("P5")), 4.0 * 128 * 128 * 64 * 12 * 16);
  EXPECT_EQ(kv_bytes(shape("D1-f32")), 2.0 * 8 * 4096 * 128 * 4);
  EXPECT_EQ(kv_bytes(shape("D3-bf16")), 2.0 * 8 * 8 * 4096 * 128 * 2);
  EXPECT_EQ(kv_bytes(shape("D2-i8")), 2.0 * 8 * 32768 * 128);
  EXPECT_EQ(kv_bytes(shape("S1")), 1024.0 * 512 * 64 * 4);
  EXPECT_EQ(useful_flops(shape("L1")), 8.0 * 512 * 512 * 512 + useful_flops(shape("P1")));
  EXPECT_EQ(kv_bytes(shape("L5")), 4.0 * 1048576);
}

TEST(BenchShapes, RaggedLengthsReachFromShortestToLongest) {
  const Shape p7 = shape("P7");
  const std::vector<std::size_t> lengths = sequence_lengths(p7);
  ASSERT_EQ(lengths.size(), 32u);
  EXPECT_EQ(*std::min_element(lengths.begin(), lengths.end()), 16u);
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), 1024u);
  EXPECT_EQ(std::set(lengths.begin(), lengths.end()).size(), 32u);
  EXPECT_EQ(query_tokens(p7), std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  double squares = 0;
  for (const std::size_t n : lengths) squares += static_cast<double>(n * n);
  EXPECT_EQ(useful_flops(p7), 2.0 * squares * 64 * 12);
}

TEST(BenchShapes, WhatStandsBesideAnotherNamesOneThatExists) {
  for (const Shape& s : all_shapes()) {
    if (s.beside.empty()) continue;
    EXPECT_NO_THROW(shape(std::string(s.beside))) << s.name;
  }
}

}  // namespace
}  // namespace heed::bench
