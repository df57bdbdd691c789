// Each call is the first of a thread that gets no memory at all: nothing is thrown, codes come.
#include <initializer_list>
#include <thread>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "failing_malloc.h"

namespace {

template <class Call>
void without_memory(Call call) {
  std::thread([&] {
    fails_from = 0;
    call();
    aclGetRecentErrMsg();
    fails_from = SIZE_MAX;
    aclGetRecentErrMsg();
    CHECK(aclrtFree(nullptr) == 100000);
    CHECK(aclGetRecentErrMsg() != nullptr);
  }).join();
}

const int64_t dims[] = {2, 2};
float numbers[4], scales[2];
int8_t codes[4];

aclTensor* make_tensor(aclDataType dtype, uint64_t rank, void* data) {
  return aclCreateTensor(dims, rank, dtype, nullptr, 0, ACL_FORMAT_ND, dims, rank, data);
}

void describe() {
  aclTensor* const stale = make_tensor(ACL_FLOAT, 2, numbers);
  CHECK(aclDestroyTensor(stale) == 0);
  int64_t offset = 0;
  uint64_t size = 0;
  without_memory([&] { CHECK(make_tensor(ACL_FLOAT, 2, numbers) == nullptr); });
  without_memory([&] { CHECK(aclCreateIntArray(dims, 2) == nullptr); });
  without_memory([&] { CHECK(aclDestroyTensor(stale) == 161001); });
  without_memory([&] { CHECK(aclGetViewOffset(stale, &offset) == 161001); });
  without_memory([&] { CHECK(aclGetIntArraySize(nullptr, &size) == 161001); });
}

void execute() {
  aclTensor* const x = make_tensor(ACL_FLOAT, 2, numbers);
  aclTensor* const y = make_tensor(ACL_INT8, 2, codes);
  aclTensor* const scale = make_tensor(ACL_FLOAT, 1, scales);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const auto plan = [&](const aclTensor* of) {
    return aclnnDynamicQuantGetWorkspaceSize(of, nullptr, y, scale, &size, &executor);
  };
  without_memory([&] {
    const int code = plan(x);
    CHECK(code == 561101 || code == 0);
  });
  without_memory([&] {
    const int code = plan(nullptr);
    CHECK(code == 561101 || code == 161001);
  });
  without_memory([&] { CHECK(aclDestroyAclOpExecutor(nullptr) == 561103); });
  without_memory([&] { CHECK(aclnnDynamicQuant(nullptr, 0, nullptr, nullptr) == 561000); });
  CHECK(plan(x) == 0);
  without_memory([&] {
    const int code = aclnnDynamicQuant(nullptr, 0, executor, nullptr);
    CHECK(code == 561000 || code == 0);
  });
  for (const aclTensor* tensor : {x, y, scale}) CHECK(aclDestroyTensor(tensor) == 0);
}

void use_the_runtime() {
  void* block = nullptr;
  const int unknown = 0;
  void* const no_block = const_cast<int*>(&unknown);
  const auto allocate = [&] { return aclrtMalloc(&block, 8, ACL_MEM_MALLOC_HUGE_FIRST); };
  without_memory([&] { CHECK(allocate() == 207001); });
  without_memory([&] { CHECK(aclrtFree(no_block) == 107000); });
  without_memory([&] { CHECK(aclrtDestroyStream(no_block) != 0); });
  without_memory([&] { CHECK(aclrtSetDevice(1) != 0); });
  without_memory([&] { CHECK(aclrtGetDevice(nullptr) != 0); });
  without_memory([&] { CHECK(aclInit("/no/such/folder/acl.json") != 0); });
}

}  // namespace

int main() {
  describe();
  execute();
  use_the_runtime();
}
