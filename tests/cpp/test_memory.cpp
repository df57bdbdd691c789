#include "core/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace npu_quant {
namespace {

TEST(Memory, IsAlignedAndWritable) {
  for (const std::size_t bytes : {std::size_t{1}, kLargeOutput, (std::size_t{5} << 20) + 3}) {
    void* data = allocate_large(bytes);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % (2 << 20), 0U);
    std::memset(data, 1, bytes);
    free_large(data);
  }
}

TEST(Memory, GivesTheLastBufferFreedBackFirst) {
  void* first = allocate_large(8 << 20);
  free_large(first);
  void* again = allocate_large(7 << 20);
  EXPECT_EQ(again, first);
  free_large(again);
}

TEST(Memory, LendsABufferToOneAtATime) {
  free_large(allocate_large(8 << 20));
  void* one = allocate_large(8 << 20);
  void* other = allocate_large(8 << 20);
  EXPECT_NE(one, other);
  free_large(one);
  free_large(other);
}

TEST(Memory, IsNullWhenOut) {
  EXPECT_EQ(allocate_large(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(allocate_large(SIZE_MAX), nullptr);
}

}  // namespace
}  // namespace npu_quant
