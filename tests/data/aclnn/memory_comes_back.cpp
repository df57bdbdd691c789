// Objects of each kind are made until there is no memory; then there is some again.
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "failing_malloc.h"

namespace {

// More than there is room for in what memory a registry has at hand.
constexpr int kMost = 100000;

const int64_t dims[] = {2, 2};
float numbers[4], scales[2];
int8_t codes[4];
aclTensor *x, *y, *scale;

aclTensor* make_tensor(aclDataType dtype, uint64_t rank, void* data) {
  return aclCreateTensor(dims, rank, dtype, nullptr, 0, ACL_FORMAT_ND, dims, rank, data);
}

struct Tensors {
  static const void* make() { return make_tensor(ACL_FLOAT, 2, numbers); }
  static bool works(const void* handle) {
    int64_t offset = 1;
    return aclGetViewOffset(static_cast<const aclTensor*>(handle), &offset) == 0 && offset == 0;
  }
  static int destroy(const void* h) { return aclDestroyTensor(static_cast<const aclTensor*>(h)); }
};

struct Arrays {
  static const void* make() { return aclCreateIntArray(dims, 2); }
  static bool works(const void* handle) {
    uint64_t size = 0;
    return aclGetIntArraySize(static_cast<const aclIntArray*>(handle), &size) == 0 && size == 2;
  }
  static int destroy(const void* h) {
    return aclDestroyIntArray(static_cast<const aclIntArray*>(h));
  }
};

struct Streams {
  static const void* make() {
    aclrtStream stream = nullptr;
    return aclrtCreateStream(&stream) == 0 ? stream : nullptr;
  }
  static bool works(const void* h) { return aclrtSynchronizeStream(const_cast<void*>(h)) == 0; }
  static int destroy(const void* h) { return aclrtDestroyStream(const_cast<void*>(h)); }
};

struct Blocks {
  static const void* make() {
    void* block = nullptr;
    return aclrtMalloc(&block, 600, ACL_MEM_MALLOC_HUGE_FIRST) == 0 ? block : nullptr;
  }
  static bool works(const void* h) { return aclrtMemset(const_cast<void*>(h), 600, 1, 600) == 0; }
  static int destroy(const void* h) { return aclrtFree(const_cast<void*>(h)); }
};

struct Executors {
  static aclOpExecutor* handle_of(const void* h) {
    return static_cast<aclOpExecutor*>(const_cast<void*>(h));
  }
  static const void* make() {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    aclnnDynamicQuantGetWorkspaceSize(x, nullptr, y, scale, &size, &executor);
    return executor;
  }
  static bool works(const void* h) { return aclSetAclOpExecutorRepeatable(handle_of(h)) == 0; }
  static int destroy(const void* h) { return aclDestroyAclOpExecutor(handle_of(h)); }
};

template <class Kind>
void use_and_destroy(const std::vector<const void*>& handles) {
  for (const void* handle : handles) CHECK(Kind::works(handle));
  for (const void* handle : handles) CHECK(Kind::destroy(handle) == 0);
  for (const void* handle : handles) CHECK(Kind::destroy(handle) != 0);
}

// Sizes from `least` on fail, after so many that do not.
template <class Kind>
void exhaust(size_t least, long first) {
  std::vector<const void*> made, after;
  made.reserve(kMost);
  fails_from = least;
  succeed_first = first;
  bool failed = false;
  while (!failed && made.size() < kMost) {
    const void* handle = Kind::make();
    failed = handle == nullptr;
    if (!failed) made.push_back(handle);
  }
  if (failed) CHECK(Kind::make() == nullptr);
  fails_from = SIZE_MAX;
  CHECK(failed);
  for (int i = 0; i < 50; ++i) {
    after.push_back(Kind::make());
    CHECK(after.back() != nullptr);
  }
  use_and_destroy<Kind>(after);
  use_and_destroy<Kind>(made);
}

template <class Kind>
void exhaust_in_every_way() {
  exhaust<Kind>(500, 0);
  for (long first = 0; first < 24; ++first) exhaust<Kind>(1, first);
}

}  // namespace

int main() {
  CHECK(aclrtFree(nullptr) == 100000);  // there is a place for messages
  CHECK(aclrtSetDevice(0) == 0);
  x = make_tensor(ACL_FLOAT, 2, numbers);
  y = make_tensor(ACL_INT8, 2, codes);
  scale = make_tensor(ACL_FLOAT, 1, scales);
  exhaust_in_every_way<Tensors>();
  exhaust_in_every_way<Arrays>();
  exhaust_in_every_way<Streams>();
  exhaust_in_every_way<Blocks>();
  exhaust_in_every_way<Executors>();
}
