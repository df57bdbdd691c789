// Work that is shared by threads where none can be made: the caller does it, and finds its signals
// blocked or not as they were. Afterwards there are threads.
#include <signal.h>
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "failing_malloc.h"

namespace {

constexpr int64_t kRows = 1 << 8, kElements = 1 << 14, kDims[] = {kRows, kElements};

int count_threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  return 0;
}

aclTensor* make_tensor(aclDataType dtype, uint64_t rank, void* data) {
  return aclCreateTensor(kDims, rank, dtype, nullptr, 0, ACL_FORMAT_ND, kDims, rank, data);
}

// Runs with SIGUSR1 blocked and nothing else, and looks at the mask afterwards.
template <class Begin, class End>
void check_without_threads(aclOpExecutor* executor, std::vector<int8_t>& codes, Begin begin,
                           End end) {
  sigset_t one, after;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &one, nullptr);
  codes.assign(codes.size(), 0);
  begin();
  const int code = aclnnDynamicQuant(nullptr, 0, executor, nullptr);
  end();
  CHECK(code == 0);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    CHECK(sigismember(&after, signal) == (signal == SIGUSR1));
  CHECK(count_threads() == 1);
  for (const int8_t c : codes) CHECK(c == 127);
}

}  // namespace

int main() {
  std::vector<float> numbers(kRows * kElements, 1), scales(kRows);
  std::vector<int8_t> codes(kRows * kElements);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnDynamicQuantGetWorkspaceSize(make_tensor(ACL_FLOAT, 2, numbers.data()), nullptr,
                                          make_tensor(ACL_INT8, 2, codes.data()),
                                          make_tensor(ACL_FLOAT, 1, scales.data()), &size,
                                          &executor) == 0);
  CHECK(aclSetAclOpExecutorRepeatable(executor) == 0);
  check_without_threads(executor, codes, [] { fails_from = 0; }, [] { fails_from = SIZE_MAX; });
  // No address space for a thread's stack.
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit none{1 << 20, before.rlim_max};
  check_without_threads(
      executor, codes, [&] { setrlimit(RLIMIT_AS, &none); },
      [&] { setrlimit(RLIMIT_AS, &before); });
  CHECK(aclnnDynamicQuant(nullptr, 0, executor, nullptr) == 0);
  CHECK(count_threads() == 4);  // as the environment asks for
}
