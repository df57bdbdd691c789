// What the programs of this folder share: a device with a stream, and tensors on it. Destructors
// give everything back, in the reverse order.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

// Leaves the function with the first status that is not 0.
#define CHECK(call)                                        \
  do {                                                     \
    const int status = (call);                             \
    if (status != ACL_SUCCESS) return fail(#call, status); \
  } while (0)

inline int fail(const char* call, int status) {
  const char* reason = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: %d\n%s\n", call, status, reason != nullptr ? reason : "");
  return status;
}

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  ~Device() {
    if (stream_ != nullptr) aclrtDestroyStream(stream_);
    if (is_set_) aclrtResetDevice(0);
    if (is_initialized_) aclFinalize();
  }

  int open() {
    CHECK(aclInit(nullptr));
    is_initialized_ = true;
    CHECK(aclrtSetDevice(0));
    is_set_ = true;
    CHECK(aclrtCreateStream(&stream_));
    return ACL_SUCCESS;
  }
  aclrtStream stream() const { return stream_; }

 private:
  bool is_initialized_ = false, is_set_ = false;
  aclrtStream stream_ = nullptr;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (address_ != nullptr) aclrtFree(address_);
  }

  int allocate(uint64_t size) {
    if (size == 0) return ACL_SUCCESS;
    CHECK(aclrtMalloc(&address_, size, ACL_MEM_MALLOC_HUGE_FIRST));
    return ACL_SUCCESS;
  }
  void* address() const { return address_; }

 private:
  void* address_ = nullptr;
};

// T is what an element is on the host; halves are uint16_t.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = delete;
  ~Tensor() {
    if (tensor_ != nullptr) aclDestroyTensor(tensor_);
  }

  int create(const std::vector<int64_t>& shape, aclDataType dtype, const std::vector<T>& values) {
    count_ = values.size();
    CHECK(memory_.allocate(size()));
    CHECK(aclrtMemcpy(memory_.address(), size(), values.data(), size(), ACL_MEMCPY_HOST_TO_DEVICE));
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    tensor_ = aclCreateTensor(shape.data(), shape.size(), dtype, strides.data(), 0, ACL_FORMAT_ND,
                              shape.data(), shape.size(), memory_.address());
    return tensor_ != nullptr ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
  }
  int create_output(const std::vector<int64_t>& shape, aclDataType dtype) {
    size_t count = 1;
    for (int64_t length : shape) count *= static_cast<size_t>(length);
    return create(shape, dtype, std::vector<T>(count));
  }
  int read(std::vector<T>& values) const {
    values.resize(count_);
    CHECK(aclrtMemcpy(values.data(), size(), memory_.address(), size(), ACL_MEMCPY_DEVICE_TO_HOST));
    return ACL_SUCCESS;
  }
  aclTensor* get() const { return tensor_; }
  // For a list, which destroys it.
  aclTensor* release() {
    aclTensor* released = tensor_;
    tensor_ = nullptr;
    return released;
  }

 private:
  size_t size() const { return count_ * sizeof(T); }

  DeviceMemory memory_;
  size_t count_ = 0;
  aclTensor* tensor_ = nullptr;
};

class TensorList {
 public:
  TensorList() = default;
  TensorList(const TensorList&) = delete;
  ~TensorList() {
    if (list_ != nullptr) aclDestroyTensorList(list_);
  }

  int create(const std::vector<aclTensor*>& tensors) {
    list_ = aclCreateTensorList(tensors.data(), tensors.size());
    return list_ != nullptr ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
  }
  aclTensorList* get() const { return list_; }

 private:
  aclTensorList* list_ = nullptr;
};

inline std::vector<uint16_t> to_halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (float value : values) halves.push_back(aclFloatToFloat16(value));
  return halves;
}

inline void print_element(const char* name, size_t i, float value) {
  std::printf("%s[%zu] is: %f\n", name, i, static_cast<double>(value));
}
inline void print_element(const char* name, size_t i, uint16_t half) {
  print_element(name, i, aclFloat16ToFloat(half));
}
inline void print_element(const char* name, size_t i, int8_t code) {
  std::printf("%s[%zu] is: %d\n", name, i, code);
}
inline void print_element(const char* name, size_t i, int32_t number) {
  std::printf("%s[%zu] is: %ld\n", name, i, static_cast<long>(number));
}
inline void print_element(const char* name, size_t i, uint8_t flag) {
  std::printf("%s[%zu] is: %d\n", name, i, flag);
}

inline void print_element(const char* name, size_t i, uint32_t word) {
  std::printf("%s[%zu] is: 0x%08lx\n", name, i, static_cast<unsigned long>(word));
}
inline void print_element(const char* name, size_t i, uint64_t word) {
  std::printf("%s[%zu] is: 0x%012llx\n", name, i, static_cast<unsigned long long>(word));
}

template <class T>
int print(const char* name, const Tensor<T>& tensor) {
  std::vector<T> values;
  CHECK(tensor.read(values));
  for (size_t i = 0; i < values.size(); ++i) print_element(name, i, values[i]);
  return ACL_SUCCESS;
}
