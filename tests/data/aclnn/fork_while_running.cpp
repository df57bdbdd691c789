// Forks while another thread runs a repeatable executor: each child can run the same one.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_dynamic_quant.h"

namespace {

constexpr int kForks = 20;
constexpr int64_t kRows = 1 << 10, kElements = 1 << 14, kDims[] = {kRows, kElements};
constexpr unsigned kSeconds = 20;  // that a child has

aclTensor* make_tensor(aclDataType dtype, uint64_t rank, void* data) {
  return aclCreateTensor(kDims, rank, dtype, nullptr, 0, ACL_FORMAT_ND, kDims, rank, data);
}

bool launches(aclOpExecutor* executor) {
  return aclnnDynamicQuant(nullptr, 0, executor, nullptr) == 0;
}

// All of a child's life.
bool runs_in_child(aclOpExecutor* executor, std::vector<int8_t>& codes) {
  alarm(kSeconds);
  std::memset(codes.data(), 1, codes.size());
  return launches(executor) && codes.front() == 127 && codes.back() == 127;
}

bool child_ends_well(pid_t child) {
  int status = 0;
  const bool ended = waitpid(child, &status, 0) == child;
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  std::fprintf(stderr, "a child ended with status %#x\n", static_cast<unsigned>(status));
  return false;
}

}  // namespace

int main() {
  std::vector<float> numbers(kRows * kElements, 1), scales(kRows);
  std::vector<int8_t> codes(kRows * kElements);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const int planned = aclnnDynamicQuantGetWorkspaceSize(
      make_tensor(ACL_FLOAT, 2, numbers.data()), nullptr, make_tensor(ACL_INT8, 2, codes.data()),
      make_tensor(ACL_FLOAT, 1, scales.data()), &size, &executor);
  if (planned != 0 || aclSetAclOpExecutorRepeatable(executor) != 0) return 2;
  std::atomic<bool> stop{false}, good{true};
  std::thread runner([&] {
    while (!stop) good = good && launches(executor);
  });
  for (int i = 0; good && i < kForks; ++i) {
    usleep(1000);
    const pid_t child = fork();
    if (child == 0) _exit(runs_in_child(executor, codes) ? 0 : 1);
    good = child_ends_well(child) && good;
  }
  stop = true;
  runner.join();
  return good && launches(executor) ? 0 : 1;
}
