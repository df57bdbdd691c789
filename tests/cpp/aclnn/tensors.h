// Tensors on device memory and calls in two phases, for tests of the C API.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace npu_quant::testing {

using Dims = std::vector<int64_t>;

inline int on_the_stack = 0;  // what no handle is

inline int64_t count_of(const Dims& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

inline Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Where the elements of a view are, in row-major order, counted in elements from its address.
inline std::vector<int64_t> positions(const Dims& shape, const Dims& strides, int64_t offset) {
  std::vector<int64_t> result(static_cast<size_t>(count_of(shape)), offset);
  for (size_t i = 0; i < result.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      result[i] += rest % shape[d] * strides[d];
  }
  return result;
}

template <class T>
std::vector<T> download(const void* address, size_t count) {
  std::vector<T> values(count);
  const size_t bytes = count * sizeof(T);
  EXPECT_EQ(aclrtMemcpy(values.data(), bytes, address, bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  return values;
}

template <class T>
void upload(void* address, const std::vector<T>& values) {
  const size_t bytes = values.size() * sizeof(T);
  EXPECT_EQ(aclrtMemcpy(address, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
}

// A block of device memory with these values. None for no values.
struct Block {
  Block() = default;
  template <class T>
  explicit Block(const std::vector<T>& values) : bytes(values.size() * sizeof(T)) {
    if (bytes == 0) return;
    void* address = nullptr;
    EXPECT_EQ(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    owner.reset(address);
    upload(address, values);
  }
  void* address() const { return owner.get(); }

  size_t bytes = 0;
  std::unique_ptr<void, aclError (*)(void*)> owner{nullptr, aclrtFree};
};

// An aclTensor together with its memory. A default one is NULL.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Block block, Dims shape, Dims strides, int64_t offset, aclDataType dtype)
      : block_(std::move(block)),
        shape_(std::move(shape)),
        strides_(std::move(strides)),
        offset_(offset) {
    handle_.reset(aclCreateTensor(shape_.data(), shape_.size(), dtype, strides_.data(), offset_,
                                  ACL_FORMAT_ND, shape_.data(), shape_.size(), address()));
    EXPECT_NE(get(), nullptr);
  }

  aclTensor* get() const { return handle_.get(); }
  void* address() const { return block_.address(); }
  aclnnStatus destroy() { return aclDestroyTensor(handle_.release()); }  // the memory stays

  // All that the block holds, gaps included.
  template <class T>
  std::vector<T> block() const {
    return download<T>(address(), block_.bytes / sizeof(T));
  }

  // The view's elements in row-major order. Packed types: the bytes of the block.
  template <class T>
  std::vector<T> host() const {
    const std::vector<T> all = block<T>();
    if (strides_ == contiguous_strides(shape_) && offset_ == 0) return all;
    std::vector<T> values;
    for (const int64_t i : positions(shape_, strides_, offset_))
      values.push_back(all.at(static_cast<size_t>(i)));
    return values;
  }

 private:
  Block block_;
  Dims shape_, strides_;
  int64_t offset_ = 0;
  std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor*)> handle_{nullptr, aclDestroyTensor};
};

// Contiguous. Halves are given by their bits: device_tensor<uint16_t>({0x3c00}, {1}, ACL_FLOAT16).
template <class T>
Tensor device_tensor(const std::vector<T>& values, const Dims& shape, aclDataType dtype) {
  return Tensor(Block(values), shape, contiguous_strides(shape), 0, dtype);
}

// The same values, spread with strides and offset in elements over a block that holds `gap`
// elsewhere.
template <class T>
Tensor strided_tensor(const std::vector<T>& values, const Dims& shape, aclDataType dtype,
                      const Dims& strides, int64_t offset = 0, T gap = T{}) {
  const std::vector<int64_t> at = positions(shape, strides, offset);
  const int64_t last = at.empty() ? -1 : *std::max_element(at.begin(), at.end());
  std::vector<T> all(static_cast<size_t>(last + 1), gap);
  for (size_t i = 0; i < at.size(); ++i) all[static_cast<size_t>(at[i])] = values.at(i);
  return Tensor(Block(all), shape, strides, offset, dtype);
}

// For results: contiguous, every element `fill`, so that one left out shows.
template <class T>
Tensor device_output(const Dims& shape, aclDataType dtype, T fill = T{77}) {
  return device_tensor(std::vector<T>(static_cast<size_t>(count_of(shape)), fill), shape, dtype);
}

template <class To, class From>
To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "of one size");
  To result;
  std::memcpy(&result, &value, sizeof(To));
  return result;
}

// The device is set and there is a stream.
class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    while (aclGetRecentErrMsg() != nullptr) continue;
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    EXPECT_EQ(aclrtResetDevice(0), 0);
  }

  aclrtStream stream = nullptr;
};

// Phase 1, expected to succeed: phase1(uint64_t* workspace_size, aclOpExecutor** executor).
template <class Phase1>
aclOpExecutor* prepare(const Phase1& phase1) {
  uint64_t workspace_size = 1;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(phase1(&workspace_size, &executor), 0);
  EXPECT_EQ(workspace_size, 0U);
  EXPECT_NE(executor, nullptr);
  return executor;
}

// Both phases and the wait for the stream; the first status that is not 0.
template <class Phase2, class Phase1>
aclnnStatus run(aclrtStream stream, Phase2 phase2, const Phase1& phase1) {
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  aclnnStatus status = phase1(&workspace_size, &executor);
  if (status == 0) status = phase2(nullptr, workspace_size, executor, stream);
  if (status == 0) status = aclrtSynchronizeStream(stream);
  return status;
}

}  // namespace npu_quant::testing
