// Forks while threads are inside every part of the library: each child can use all of it.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_dynamic_quant.h"

namespace {

constexpr int kThreads = 4, kForks = 30, kRows = 2;
constexpr unsigned kProcesses = 200;
constexpr int64_t kDims[] = {kRows, 4};
constexpr unsigned kSeconds = 10;  // that a child has
std::atomic<bool> stop{false};

aclTensor* make_tensor(aclDataType dtype, uint64_t rank, void* data) {
  return aclCreateTensor(kDims, rank, dtype, nullptr, 0, ACL_FORMAT_ND, kDims, rank, data);
}

// Makes, runs and destroys something of each kind; whether all went well.
bool use_everything() {
  float rows[kRows][4] = {{0, 1, -2, 4}, {0, 1, -2, 4}};
  const int8_t expected[kRows][4] = {{0, 32, -64, 127}, {0, 32, -64, 127}};
  int8_t codes[kRows][4] = {};
  void *in = nullptr, *out = nullptr, *scales = nullptr;
  aclrtStream stream = nullptr;
  bool good = aclrtCreateStream(&stream) == 0;
  for (void** block : {&in, &out, &scales})
    good &= aclrtMalloc(block, sizeof rows, ACL_MEM_MALLOC_HUGE_FIRST) == 0;
  good &= aclrtMemcpy(in, sizeof rows, rows, sizeof rows, ACL_MEMCPY_HOST_TO_DEVICE) == 0;
  aclTensor *x = make_tensor(ACL_FLOAT, 2, in), *y = make_tensor(ACL_INT8, 2, out),
            *scale = make_tensor(ACL_FLOAT, 1, scales);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  good &= aclnnDynamicQuantGetWorkspaceSize(x, nullptr, y, scale, &size, &executor) == 0;
  good &= aclnnDynamicQuant(nullptr, 0, executor, stream) == 0;
  good &= aclrtSynchronizeStream(stream) == 0;
  good &= aclrtMemcpy(codes, sizeof codes, out, sizeof codes, ACL_MEMCPY_DEVICE_TO_HOST) == 0;
  good &= std::memcmp(codes, expected, sizeof codes) == 0;
  const aclIntArray* const array = aclCreateIntArray(kDims, 2);
  good &= array != nullptr && aclDestroyIntArray(array) == 0;
  for (aclTensor* tensor : {x, y, scale}) good &= aclDestroyTensor(tensor) == 0;
  for (void* block : {in, out, scales}) good &= aclrtFree(block) == 0;
  good &= aclrtDestroyStream(stream) == 0;
  return good && aclrtFree(in) == 107000 && aclGetRecentErrMsg() != nullptr;
}

// One kind of work per thread, so that each lock is nearly always somebody's.
void churn(int kind) {
  while (!stop) {
    void* block = nullptr;
    switch (kind) {
      case 0: aclDestroyTensor(make_tensor(ACL_FLOAT, 2, nullptr)); break;
      case 1:
        aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtFree(block);
        break;
      default: use_everything();
    }
  }
}

bool child_ends_well(pid_t child) {
  int status = 0;
  const bool ended = waitpid(child, &status, 0) == child;
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  std::fprintf(stderr, "a child ended with status %#x\n", static_cast<unsigned>(status));
  return false;
}

// Whether every child of a process whose threads have just begun ends well.
bool forks_well(int forks, unsigned pause) {
  stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(churn, i);
  bool good = true;
  for (int i = 0; good && i < forks; ++i) {
    usleep(pause);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSeconds);
      _exit(use_everything() ? 0 : 1);
    }
    good = child_ends_well(child);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return good && use_everything();
}

// The same in a process that uses for the first time whatever it uses.
bool forks_well_at_first(unsigned pause) {
  const pid_t process = fork();
  if (process == 0) {
    const bool good = aclrtSetDevice(0) == 0 && forks_well(1, pause);
    _exit(good ? 0 : 1);
  }
  return child_ends_well(process);
}

}  // namespace

int main() {
  for (unsigned i = 0; i < kProcesses; ++i)
    if (!forks_well_at_first(i % 10 * 50)) return 1;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
  return forks_well(kForks, 1000) ? 0 : 1;
}
