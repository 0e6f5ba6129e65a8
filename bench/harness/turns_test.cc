#include "bench/harness/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heed::bench {
namespace {

TEST(BenchTurns, SubjectsAlternateAndTheLimitIsMeasuredInEveryTurn) {
  std::string order;
  std::vector<Subject> subjects(2);
  subjects[0] = {.run = [&] { order += 'a'; }, .beside = [&] { order += 'A'; }};
  subjects[1] = {.run = [&] { order += 'b'; }, .beside = [&] { order += 'B'; }};
  std::vector<std::size_t> rounds;
  take_turns(subjects, {.seconds = 0, .rounds = 3, .min_runs = 3},
             [&](std::size_t round) { rounds.push_back(round); });
  EXPECT_EQ(order, "AaBbAaBbAaBb");
  EXPECT_THAT(rounds, ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(subjects[0].seconds.size(), 3u);
}

TEST(BenchTurns, EverySubjectRunsAtLeastAsOftenAsAsked) {
  for (const std::size_t rounds : {1, 2, 7, 30}) {
    std::vector<Subject> subjects(3, {.run = [] {}, .beside = [] {}});
    take_turns(subjects, {.seconds = 0, .rounds = rounds, .min_runs = 5});
    for (const Subject& subject : subjects) EXPECT_EQ(subject.seconds.size(), 5u);
  }
}

TEST(BenchTurns, ASubjectThatNeedsMoreRunsGetsThem) {
  std::vector<Subject> subjects(2, {.run = [] {}, .beside = [] {}});
  subjects[1].min_runs = 9;
  take_turns(subjects, {.seconds = 0, .rounds = 4, .min_runs = 5});
  EXPECT_EQ(subjects[0].seconds.size(), 5u);
  EXPECT_EQ(subjects[1].seconds.size(), 9u);
}

TEST(BenchTurns, BestAndMedian) {
  EXPECT_EQ(best(std::vector{3.0, 1.0, 2.0}), 1.0);
  EXPECT_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(median({5.0}), 5.0);
}

}  // namespace
}  // namespace heed::bench
