#include "core/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

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

TEST(Parallel, WorksInAForkedChild) {
  set_num_threads(2);
  ASSERT_TRUE(covers_each_once(1000));
  const pid_t child = fork();
  if (child == 0) _exit(covers_each_once(1000) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace npu_quant
