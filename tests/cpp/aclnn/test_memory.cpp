// Memory of device and host, copies, and the small functions beside them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "acl/acl.h"

// Where a sanitizer watches, it refuses what is too large as malloc does: by itself it would end
// the program.
extern "C" {
[[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
[[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}

namespace npu_quant::testing {
namespace {

using Bytes = std::vector<uint8_t>;

// One block, freed at the end.
class Memory : public ::testing::Test {
 protected:
  uint8_t* allocate(size_t size) {
    void* address = nullptr;
    EXPECT_EQ(aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    blocks_.push_back(address);
    return static_cast<uint8_t*>(address);
  }
  void TearDown() override {
    for (void* block : blocks_) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  }

 private:
  std::vector<void*> blocks_;
};

Bytes read(const void* address, size_t count) {
  Bytes bytes(count);
  EXPECT_EQ(aclrtMemcpy(bytes.data(), count, address, count, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  return bytes;
}

TEST_F(Memory, IsAlignedZeroedAndPadded) {
  for (const size_t size : {1, 8, 31, 32, 33, 63, 64, 65, 1000, 4096}) {
    uint8_t* block = allocate(size);
    const size_t real = (size + 31) / 32 * 32 + 32;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0U) << size;
    EXPECT_EQ(read(block, real), Bytes(real, 0)) << size;
    Bytes more(real + 1);
    EXPECT_EQ(aclrtMemcpy(more.data(), real + 1, block, real + 1, ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_ERROR_RT_PARAM_INVALID)
        << size;
  }
}

TEST_F(Memory, IsZeroedAlsoWhereItWasUsedBefore) {
  for (int i = 0; i < 100; ++i) {
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, 100, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(read(block, 160), Bytes(160, 0));
    EXPECT_EQ(aclrtMemset(block, 160, 0xAA, 160), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  }
}

TEST_F(Memory, ThePolicyIsNotLookedAt) {
  for (const int policy : {0, 1, 2, 3, 7, 0x0100, 0x1000, 0x100000, 0x7777}) {
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 8, static_cast<aclrtMemMallocPolicy>(policy)), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  }
}

TEST_F(Memory, SizesThatCannotBe) {
  const auto policy = ACL_MEM_MALLOC_HUGE_FIRST;
  const size_t most = std::numeric_limits<size_t>::max();
  void* block = nullptr;
  for (const auto allocate_with : {aclrtMalloc, aclrtMallocAlign32}) {
    EXPECT_EQ(allocate_with(nullptr, 8, policy), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(allocate_with(&block, 0, policy), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(allocate_with(&block, most, policy), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(allocate_with(&block, most - 10, policy), ACL_ERROR_INVALID_PARAM);
  }
  EXPECT_EQ(aclrtMalloc(&block, most - 40, policy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(nullptr, 8), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Memory, MoreThanThereIs) {
  void* block = nullptr;
  EXPECT_EQ(aclrtMalloc(&block, size_t{1} << 62, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
}

TEST_F(Memory, Align32IsAlignedAndFreedLikeAnyOther) {
  void* block = nullptr;
  ASSERT_EQ(aclrtMallocAlign32(&block, 40, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 32, 0U);
  EXPECT_EQ(read(block, 40), Bytes(40, 0));
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(block), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Memory, IsFreedOnceByItsOwnFunction) {
  void *device = nullptr, *host = nullptr;
  ASSERT_EQ(aclrtMalloc(&device, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&host, 8), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(device), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(host), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(static_cast<char*>(device) + 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Memory, NothingAndUnknownCannotBeFreed) {
  int unknown = 0;
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(&unknown), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreeHost(&unknown), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Memory, OfTheHostCanBeWrittenDirectly) {
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 100), ACL_SUCCESS);
  for (int i = 0; i < 100; ++i) static_cast<uint8_t*>(host)[i] = static_cast<uint8_t>(i);
  uint8_t* device = allocate(100);
  EXPECT_EQ(aclrtMemcpy(device, 100, host, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  const Bytes bytes = read(device, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bytes[static_cast<size_t>(i)], i);
}

TEST_F(Memory, AddressesDecideWhereACopyGoes) {
  const Bytes source = {1, 2, 3, 4};
  for (int kind = 0; kind <= 5; ++kind) {
    uint8_t* block = allocate(4);
    EXPECT_EQ(aclrtMemcpy(block, 4, source.data(), 3, static_cast<aclrtMemcpyKind>(kind)), 0);
    EXPECT_EQ(read(block, 4), (Bytes{1, 2, 3, 0})) << kind;
    EXPECT_EQ(aclrtMemcpyAsync(block + 1, 3, source.data() + 1, 3,
                               static_cast<aclrtMemcpyKind>(kind), nullptr),
              0);
    EXPECT_EQ(read(block, 4), (Bytes{1, 2, 3, 4})) << kind;
  }
}

// A copy's faults; `copy` is aclrtMemcpy or aclrtMemcpyAsync.
template <class Copy>
void expect_faults_of_a_copy(uint8_t* block, const Copy& copy) {
  uint8_t host[80] = {9, 9, 9, 9, 9, 9, 9, 9};
  const auto kind = ACL_MEMCPY_HOST_TO_DEVICE;
  EXPECT_EQ(copy(nullptr, 0, nullptr, 0, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(copy(nullptr, 8, host, 8, kind), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(copy(block, 8, nullptr, 8, kind), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(copy(nullptr, 4, host, 8, kind), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(copy(block, 8, host, 8, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(copy(block, 4, host, 8, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(copy(block, 7, host, 8, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(copy(block, 7, block, 8, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(copy(block, 80, block, 65, kind), ACL_SUCCESS);  // onto itself: nothing to do
  EXPECT_EQ(copy(block, 80, host, 65, kind), ACL_ERROR_RT_PARAM_INVALID);  // 8 bytes are 64
  EXPECT_EQ(copy(block + 60, 20, host, 5, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(copy(block, SIZE_MAX, host, SIZE_MAX, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(copy(host, SIZE_MAX, block + 8, SIZE_MAX - 4, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(copy(host, 80, block, 65, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(copy(host, 80, block + 63, 2, kind), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(read(block, 64), Bytes(64, 0));
  EXPECT_EQ(copy(block + 60, 20, host, 4, kind), ACL_SUCCESS);
  EXPECT_EQ(read(block + 59, 5), (Bytes{0, 9, 9, 9, 9}));
}

TEST_F(Memory, FaultsOfACopy) {
  expect_faults_of_a_copy(allocate(8), aclrtMemcpy);
  expect_faults_of_a_copy(
      allocate(8), [](void* to, size_t most, const void* from, size_t count, aclrtMemcpyKind kind) {
        return aclrtMemcpyAsync(to, most, from, count, kind, nullptr);
      });
}

// A fill's faults; `fill` is aclrtMemset or aclrtMemsetAsync.
template <class Fill>
void expect_faults_of_a_fill(uint8_t* block, const Fill& fill) {
  EXPECT_EQ(fill(nullptr, 0, 1, 0), ACL_SUCCESS);
  EXPECT_EQ(fill(nullptr, 8, 1, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(fill(block, 7, 1, 8), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(fill(block, 80, 1, 65), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(fill(block + 63, 80, 1, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(fill(block, SIZE_MAX, 1, SIZE_MAX - 4), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(read(block, 64), Bytes(64, 0));
  EXPECT_EQ(fill(block, 8, 0x1FE, 3), ACL_SUCCESS);  // the low byte
  EXPECT_EQ(read(block, 4), (Bytes{0xFE, 0xFE, 0xFE, 0}));
  EXPECT_EQ(fill(block + 62, 2, -1, 2), ACL_SUCCESS);
  EXPECT_EQ(read(block + 61, 3), (Bytes{0, 0xFF, 0xFF}));
}

TEST_F(Memory, FaultsOfAFill) {
  expect_faults_of_a_fill(allocate(8), aclrtMemset);
  expect_faults_of_a_fill(allocate(8), [](void* to, size_t most, int32_t value, size_t count) {
    return aclrtMemsetAsync(to, most, value, count, nullptr);
  });
}

TEST_F(Memory, TheStreamOfACopyOrFillMustBeAlive) {
  uint8_t* block = allocate(8);
  const uint8_t host[8] = {1};
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(block, 8, 7, 8, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(block, 8, host, 1, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(read(block, 8), (Bytes{1, 7, 7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(block, 8, 8, 8, stream), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpyAsync(block, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(read(block, 8), (Bytes{1, 7, 7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(SocName, IsThatOfTheEnvironment) {
  unsetenv("NPU_QUANT_SOC_NAME");
  EXPECT_EQ(aclrtGetSocName(), nullptr);
  setenv("NPU_QUANT_SOC_NAME", "Ascend950PR", 1);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend950PR");
  unsetenv("NPU_QUANT_SOC_NAME");
}

struct SizeOfType {
  int dtype;
  size_t size;
};

TEST(DataType, SizesAreBytesOfAnElement) {
  const SizeOfType table[] = {{ACL_DT_UNDEFINED, 0},
                              {ACL_FLOAT, 4},
                              {ACL_FLOAT16, 2},
                              {ACL_INT8, 1},
                              {ACL_INT32, 4},
                              {ACL_UINT8, 1},
                              {ACL_INT16, 2},
                              {ACL_UINT16, 2},
                              {ACL_UINT32, 4},
                              {ACL_INT64, 8},
                              {ACL_UINT64, 8},
                              {ACL_DOUBLE, 8},
                              {ACL_BOOL, 1},
                              {ACL_STRING, 0},
                              {ACL_COMPLEX64, 8},
                              {ACL_COMPLEX128, 16},
                              {ACL_BF16, 2},
                              {ACL_INT4, 1},
                              {ACL_UINT1, 1},
                              {ACL_COMPLEX32, 4},
                              {ACL_HIFLOAT8, 1},
                              {ACL_FLOAT8_E5M2, 1},
                              {ACL_FLOAT8_E4M3FN, 1},
                              {ACL_FLOAT8_E8M0, 1},
                              {ACL_FLOAT6_E3M2, 8},
                              {ACL_FLOAT6_E2M3, 8},
                              {ACL_FLOAT4_E2M1, 8},
                              {ACL_FLOAT4_E1M2, 8},
                              {5, 8},
                              {28, 8}};
  for (const SizeOfType& row : table)
    EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(row.dtype)), row.size) << row.dtype;
}

}  // namespace
}  // namespace npu_quant::testing
