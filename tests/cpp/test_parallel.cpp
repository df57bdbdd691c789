#include "core/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/memory.h"

namespace npu_quant {
namespace {

constexpr int64_t kLargeWork = int64_t{1} << 30;  // bytes: enough for every thread

// Every index once, whatever the number of threads.
bool covers_each_once(int64_t count) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  const auto mark = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  };
  parallel_for(count, kLargeWork, mark);
  for (const auto& times : seen)
    if (times != 1) return false;
  return true;
}

TEST(Parallel, CoversEachIndexOnce) {
  for (const int threads : {1, 2, 3, 16}) {
    set_num_threads(threads);
    for (const int64_t count : {0, 1, 2, 7, 1000, 100003}) EXPECT_TRUE(covers_each_once(count));
  }
}

TEST(Parallel, ServesConcurrentCallers) {
  set_num_threads(4);
  std::atomic<bool> good{true};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) good = covers_each_once(500) && good;
    });
  for (auto& caller : callers) caller.join();
  EXPECT_TRUE(good);
}

bool ends_well(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Parallel, WorksInAForkedChild) {
  set_num_threads(2);
  ASSERT_TRUE(covers_each_once(1000));
  const pid_t child = fork();
  if (child == 0) _exit(covers_each_once(1000) ? 0 : 1);
  EXPECT_TRUE(ends_well(child));
}

// Does work that takes long, in many pieces that ask for memory, and returns how many were done.
int64_t done_of(int64_t count) {
  std::atomic<int64_t> done{0};
  parallel_for(count, count * kLargeWork, [&](int64_t begin, int64_t end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    free_large(allocate_large(1));
    done += end - begin;
  });
  return done;
}

std::atomic<int> questions{0};
std::atomic<bool> good_answers{true};
std::thread::id asked_thread;

TEST(StopWhen, LeavesTheRestUndone) {
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    const StopWhen stop([] { return true; });
    const int64_t done = done_of(100000);
    EXPECT_TRUE(stop.stopped());
    EXPECT_GT(done, 0);
    EXPECT_LT(done, 5000);
    EXPECT_EQ(done_of(3), 0);
  }
  EXPECT_EQ(done_of(3), 3);
}

TEST(StopWhen, AsksItsOwnThreadAFewTimes) {
  asked_thread = std::this_thread::get_id();
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    questions = 0;
    const StopWhen stop([] {
      ++questions;
      good_answers = good_answers && std::this_thread::get_id() == asked_thread;
      return false;
    });
    EXPECT_EQ(done_of(100 * threads), 100 * threads);
    EXPECT_FALSE(stop.stopped());
    EXPECT_GE(questions, 1);
    EXPECT_LE(questions, 10);
  }
  EXPECT_TRUE(good_answers);
}

TEST(StopWhen, DoesNotAskAboutShortWork) {
  questions = 0;
  const StopWhen stop([] { return ++questions > 0; });
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    for (const int64_t bytes : {int64_t{1} << 20, int64_t{32} << 20})
      parallel_for(4, bytes, [](int64_t, int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      });
  }
  EXPECT_EQ(questions, 0);
}

pid_t asked_child = -1;

// The child ends the work alone: it has none of the parent's threads, but all that they did. Nobody
// waits for ever for memory that another asks for.
TEST(StopWhen, WhoIsAskedMayFork) {
  constexpr unsigned kSecondsOfChild = 60;
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    alarm(kSecondsOfChild);
    asked_child = -1;
    const StopWhen stop([] {
      if (asked_child == -1) asked_child = fork();
      if (asked_child == 0) alarm(kSecondsOfChild);
      return false;
    });
    const bool is_whole = done_of(100 * threads) == 100 * threads && covers_each_once(1000);
    if (asked_child == 0) _exit(is_whole ? 0 : 1);
    EXPECT_TRUE(is_whole);
    EXPECT_TRUE(ends_well(asked_child));
    alarm(0);
  }
}

TEST(StopWhen, WhoIsAskedMayWork) {
  set_num_threads(4);
  questions = 0;
  const StopWhen stop([] {
    ++questions;
    good_answers = good_answers && covers_each_once(1000);
    const StopWhen inner([] { return true; });
    good_answers = good_answers && done_of(100000) < 5000 && inner.stopped();
    return false;
  });
  EXPECT_EQ(done_of(400), 400);
  EXPECT_FALSE(stop.stopped());
  EXPECT_GT(questions, 0);
  EXPECT_TRUE(good_answers);
  EXPECT_TRUE(covers_each_once(1000));
}

}  // namespace
}  // namespace npu_quant
