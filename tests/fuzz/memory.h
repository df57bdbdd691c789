// Tensors whose dtypes, shapes and places in memory are drawn from a fuzzer's bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"

namespace npu_quant::fuzzing {

using Dims = std::vector<int64_t>;

constexpr uint8_t kUntouched = 0xa5;                              // what outputs hold before
constexpr int64_t kMostElements = 1 << 16, kMostBytes = 1 << 20;  // of a tensor that is computed

// Ends the process; the fuzzer keeps the bytes that led here.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// Reads choices off the bytes; where these end, zeros follow.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

  uint64_t bits(int count = 8) {
    uint64_t value = 0;
    for (int shift = 0; shift < count && next_ != end_; shift += 8)
      value |= static_cast<uint64_t>(*next_++) << shift;
    return value;
  }
  bool flag() { return (bits() & 1) != 0; }
  // From `low` to `high`, which are less than 2^16 apart.
  int from(int low, int high) {
    const auto count = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int>(bits(count > 256 ? 16 : 8) % count);
  }
  size_t below(size_t count) { return static_cast<size_t>(from(0, static_cast<int>(count) - 1)); }
  std::string text(int most) {
    std::string made(static_cast<size_t>(from(0, most)), ' ');
    for (char& c : made) c = static_cast<char>(bits());
    return made;
  }

 private:
  const uint8_t *next_, *end_;
};

inline bool is_packed(aclDataType dtype) {
  return dtype == ACL_INT4 || dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2;
}

// Saturated, as the product of dimensions that no memory holds.
inline int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t dim : dims)
    if (__builtin_mul_overflow(n, dim, &n)) return INT64_MAX;
  return n;
}

inline Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = product({strides[i], std::max<int64_t>(shape[i], 1)});
  return strides;
}

// Makes one of every NaN: which one an operation gives is nobody's promise.
template <class Bits>
void make_nans_one(std::vector<uint8_t>& values, Bits infinity) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  for (size_t i = 0; i + sizeof(Bits) <= values.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, values.data() + i, sizeof bits);
    if ((bits & kMagnitude) > infinity) std::memset(values.data() + i, 0xff, sizeof bits);
  }
}

// A tensor as it was drawn, and the values of its elements one after the other.
struct Tensor {
  aclDataType dtype;
  aclFormat format;
  Dims shape, strides;
  int64_t offset;
  bool is_output;
  size_t misaligned;            // bytes
  std::vector<uint8_t> memory;  // as drawn; of an output what it is to be filled with

  size_t item() const { return aclDataTypeSize(dtype); }
  // Elements from the first of the memory to the last that is used: -1 where they are too many.
  int64_t extent() const {
    if (product(shape) == 0) return 0;
    int64_t end = offset + 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t last = product({shape[i] - 1, strides[i]});
      if (last > kMostBytes || (end += last) > kMostBytes) return -1;
    }
    return end;
  }
  bool is_to_be_computed() const {
    const bool has_shape = shape.empty() || *std::min_element(shape.begin(), shape.end()) >= 0;
    return has_shape && product(shape) <= kMostElements && extent() >= 0;
  }
  int64_t bytes_of(int64_t elements) const {
    return is_packed(dtype) ? (elements + 1) / 2 : elements * static_cast<int64_t>(item());
  }

  // Where each element begins, in elements.
  std::vector<int64_t> positions() const {
    std::vector<int64_t> all(static_cast<size_t>(product(shape)), offset);
    for (size_t i = 0; i < all.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
        all[i] += rest % shape[axis] * strides[axis];
    }
    return all;
  }
  // The elements that lie so in `bytes`, one after the other; packed ones lie so in any case.
  std::vector<uint8_t> gathered(const std::vector<uint8_t>& bytes) const {
    if (is_packed(dtype)) {
      const auto first = bytes.begin() + (bytes.empty() ? 0 : offset / 2);
      return {first, bytes.end()};
    }
    std::vector<uint8_t> values;
    for (const int64_t at : positions()) {
      const auto first = bytes.begin() + at * static_cast<int64_t>(item());
      values.insert(values.end(), first, first + static_cast<int64_t>(item()));
    }
    return values;
  }
  // The results that lie so in `bytes`.
  std::vector<uint8_t> results(const std::vector<uint8_t>& bytes) const {
    std::vector<uint8_t> values = gathered(bytes);
    if (dtype == ACL_FLOAT16) make_nans_one<uint16_t>(values, 0x7c00);
    if (dtype == ACL_BF16) make_nans_one<uint16_t>(values, 0x7f80);
    if (dtype == ACL_FLOAT) make_nans_one<uint32_t>(values, 0x7f800000);
    return values;
  }
  // The same tensor where its elements follow on each other.
  Tensor contiguous() const {
    Tensor tensor = *this;
    tensor.memory = gathered(memory);
    tensor.strides = contiguous_strides(shape);
    tensor.offset = 0;
    tensor.misaligned = 0;
    return tensor;
  }
};

// Fills memory by one of a few kinds of numbers.
inline void fill(Bytes& bytes, Tensor& tensor) {
  enum { kBits, kModerate, kEqual, kZero, kKinds };
  const int kind = bytes.from(0, kKinds - 1);
  uint64_t state = bytes.bits(32) | 1;
  const auto next = [&] {
    if (kind != kEqual) state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 32;
  };
  // Of 16-bit floats the high byte says the sign and the exponent: around 1, or anything.
  const bool is_half = tensor.dtype == ACL_FLOAT16;
  const bool is_float = is_half || tensor.dtype == ACL_BF16 || tensor.dtype == ACL_FLOAT;
  for (size_t i = 0; i < tensor.memory.size(); ++i) {
    uint64_t bits = kind == kZero ? 0 : next();
    const bool is_high_byte = i % tensor.item() == tensor.item() - 1;
    if (kind == kModerate && is_float && is_high_byte)
      bits = (bits & 0x80) + (is_half ? 0x30 + bits % 24 : 0x3c + bits % 8);
    else if (kind == kModerate && tensor.dtype == ACL_INT32)
      bits = i % 4 == 0 ? bits % 9 : 0;
    tensor.memory[i] = static_cast<uint8_t>(bits);
  }
}

// Strides and an offset: contiguous, transposed, with gaps, repeating elements, or anything.
inline void lay_out(Bytes& bytes, Tensor& tensor) {
  enum { kContiguous, kTransposed, kGaps, kRepeated, kAnything, kWays };
  const size_t rank = tensor.shape.size();
  tensor.strides = contiguous_strides(tensor.shape);
  tensor.offset = 0;
  tensor.misaligned = 0;
  // Outputs whose elements share memory are refused.
  const bool may_share = !tensor.is_output || bytes.bits() >= 240;
  const int way = bytes.from(0, may_share ? kWays - 1 : kGaps);
  if (way == kContiguous || is_packed(tensor.dtype) || rank == 0) return;
  tensor.offset = bytes.from(0, 5);
  tensor.misaligned = bytes.flag() ? bytes.below(64) : 0;
  const size_t axis = bytes.below(rank);
  if (way == kTransposed) {
    Dims turned = tensor.shape;
    std::swap(turned[axis], turned[rank - 1]);
    tensor.strides = contiguous_strides(turned);
    std::swap(tensor.strides[axis], tensor.strides[rank - 1]);
  } else if (way == kGaps) {
    for (size_t i = 0; i <= axis; ++i) tensor.strides[i] = product({tensor.strides[i], 2});
  } else if (way == kRepeated) {
    tensor.strides[axis] = 0;
  } else {
    for (int64_t& stride : tensor.strides) stride = bytes.from(0, 70);
  }
}

// Memory of exactly the tensor's extent: what lies beyond it, the sanitizer watches.
class Placed {
 public:
  explicit Placed(const Tensor& tensor)
      : tensor_(tensor), memory_(new uint8_t[tensor.misaligned + tensor.memory.size()]) {
    std::copy(tensor.memory.begin(), tensor.memory.end(), address());
    const Dims storage = {static_cast<int64_t>(tensor.memory.size())};
    handle_ = aclCreateTensor(tensor.shape.data(), tensor.shape.size(), tensor.dtype,
                              tensor.strides.data(), tensor.offset, tensor.format, storage.data(),
                              storage.size(), address());
    if (handle_ == nullptr) fail("aclCreateTensor gives NULL");
  }
  Placed(const Placed&) = delete;
  ~Placed() { aclDestroyTensor(handle_); }

  const Tensor& tensor() const { return tensor_; }
  aclTensor* handle() const { return handle_; }
  std::vector<uint8_t> bytes() const { return {address(), address() + tensor_.memory.size()}; }

 private:
  uint8_t* address() const { return memory_.get() + tensor_.misaligned; }

  const Tensor& tensor_;
  std::unique_ptr<uint8_t[]> memory_;
  aclTensor* handle_;
};

}  // namespace npu_quant::fuzzing
