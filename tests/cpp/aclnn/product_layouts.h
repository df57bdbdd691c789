// Matrices of random codes, and every layout in which a call can hand over such a factor.
#pragma once

#include <sys/mman.h>

#include <functional>
#include <optional>
#include <random>

#include "../reference.h"
#include "phases.h"

namespace npu_quant::testing::layouts {
namespace {

using Bytes = std::vector<uint8_t>;

// Matrices (batch, rows, columns) of elements of so many bytes.
struct Matrices {
  int64_t batch, rows, columns;
  size_t item = 1;
  Bytes bytes = {};

  size_t at(int64_t matrix, int64_t row, int64_t column) const {
    return static_cast<size_t>((matrix * rows + row) * columns + column) * item;
  }
  Matrices of_size(int64_t new_rows, int64_t new_columns, size_t new_item) const {
    Matrices made{batch, new_rows, new_columns, new_item};
    made.bytes.resize(static_cast<size_t>(batch * new_rows * new_columns) * new_item);
    return made;
  }
  template <class Use>
  void for_each(Use use) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) use(b, r, c);
  }
  Matrices transposed() const {
    Matrices made = of_size(columns, rows, item);
    for_each([&](int64_t b, int64_t r, int64_t c) {
      std::copy_n(&bytes[at(b, r, c)], item, &made.bytes[made.at(b, c, r)]);
    });
    return made;
  }
  // Words of eight codes of 4 bits that follow on each other along an axis.
  Matrices words(bool along_rows) const {
    Matrices made = of_size(along_rows ? rows / 8 : rows, along_rows ? columns : columns / 8, 4);
    for_each([&](int64_t b, int64_t r, int64_t c) {
      const int64_t place = (along_rows ? r : c) % 8;
      const size_t word = along_rows ? made.at(b, r / 8, c) : made.at(b, r, c / 8);
      made.bytes[word + static_cast<size_t>(place / 2)] |=
          static_cast<uint8_t>((bytes[at(b, r, c)] & 15) << place % 2 * 4);
    });
    return made;
  }
};

std::mt19937 source(7);

Bytes random_bytes(int64_t count, int least, int greatest) {
  Bytes bytes(static_cast<size_t>(count));
  std::uniform_int_distribution<int> byte(least, greatest);
  for (uint8_t& one : bytes) one = static_cast<uint8_t>(byte(source));
  return bytes;
}

// float4_e2m1 as float8_e4m3fn has it.
uint8_t wider(uint8_t code) {
  constexpr uint8_t kMagnitudes[] = {0, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c};
  return static_cast<uint8_t>((code & 8) << 4 | kMagnitudes[code & 7]);
}

// Random codes of a format, one in a byte.
Matrices random_codes(aclDataType codes, int64_t batch, int64_t rows, int64_t columns) {
  Matrices made{batch, rows, columns};
  made.bytes = random_bytes(batch * rows * columns, 0, 255);
  for (uint8_t& code : made.bytes) {
    if (codes == ACL_INT4) code = static_cast<uint8_t>(((code & 15) ^ 8) - 8);
    if (codes == ACL_FLOAT4_E2M1) code = wider(code);
    if (codes == ACL_FLOAT8_E4M3FN || codes == ACL_FLOAT8_E5M2 || codes == ACL_HIFLOAT8)
      code = static_cast<uint8_t>((code & 0x87) | 0x30);  // of a few magnitudes
  }
  return made;
}

enum class Way { in_order, by_flag, by_strides };

// How a factor is handed over: as which dtype, and of words, along which axis they lie.
struct Layout {
  aclDataType dtype;
  Way way = Way::in_order;
  bool along_rows = false;

  bool is_flagged() const { return way == Way::by_flag; }
};

// A tensor in memory behind which there is none.
class Factor {
 public:
  Factor(const Matrices& codes, const Layout& layout, bool has_batch) {
    Matrices there = layout.dtype == ACL_INT32 ? codes.words(layout.along_rows) : codes;
    if (layout.way != Way::in_order) there = there.transposed();
    Dims shape{there.batch, there.rows, there.columns}, strides = contiguous_strides(shape);
    if (layout.way == Way::by_strides) {
      std::swap(shape[1], shape[2]);
      std::swap(strides[1], strides[2]);
    }
    if (!has_batch) shape.erase(shape.begin()), strides.erase(strides.begin());
    place(is_packed(layout.dtype) ? nibbles_of(there.bytes, layout.dtype) : there.bytes);
    handle_.reset(aclCreateTensor(shape.data(), shape.size(), layout.dtype, strides.data(), 0,
                                  ACL_FORMAT_ND, shape.data(), shape.size(), begin_));
  }
  ~Factor() { munmap(memory_, size_); }
  Factor(const Factor&) = delete;

  aclTensor* get() const { return handle_.get(); }

 private:
  static Bytes nibbles_of(const Bytes& codes, aclDataType dtype) {
    Bytes packed(codes.size() / 2);
    for (size_t i = 0; i < codes.size(); ++i) {
      uint8_t code = codes[i];
      for (uint8_t four = 0; dtype == ACL_FLOAT4_E2M1 && four < 16; ++four)
        if (wider(four) == codes[i]) code = four;
      packed[i / 2] |= static_cast<uint8_t>((code & 15) << i % 2 * 4);
    }
    return packed;
  }
  void place(const Bytes& bytes) {
    constexpr size_t kPage = 4096;
    const size_t whole = (bytes.size() + kPage - 1) / kPage * kPage;
    size_ = whole + kPage;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_EQ(mprotect(static_cast<char*>(memory_) + whole, kPage, PROT_NONE), 0);
    begin_ = static_cast<char*>(memory_) + whole - bytes.size();
    std::copy(bytes.begin(), bytes.end(), begin_);
  }

  void* memory_ = nullptr;
  size_t size_ = 0;
  char* begin_ = nullptr;
  std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor*)> handle_{nullptr, aclDestroyTensor};
};

// Those that codes of a format have; `flags` where a parameter says that they are transposed. Codes
// that share a byte lie in order, an even number of them.
std::vector<Layout> layouts_of(aclDataType codes, const Matrices& of, bool flags,
                               bool is_x = false) {
  std::vector<Layout> all;
  const auto add = [&](aclDataType dtype, bool along_rows) {
    for (const Way way : {Way::in_order, Way::by_flag, Way::by_strides}) {
      const bool is_even = (way == Way::by_flag ? of.rows : of.columns) % 2 == 0;
      if (way == Way::by_flag && !flags) continue;
      if (is_packed(dtype) && (way == Way::by_strides || !is_even)) continue;
      all.push_back({dtype, way, along_rows});
    }
  };
  add(codes, false);
  if (codes != ACL_INT4) return all;
  if (of.columns % 8 == 0) add(ACL_INT32, false);
  if (of.rows % 8 == 0 && !is_x) add(ACL_INT32, true);  // x has words along k alone
  return all;
}

// In the order of memory, or with the first axis last.
template <class T>
Tensor parameter(const std::vector<T>& values, const Dims& shape, aclDataType dtype, bool turned) {
  Dims strides = contiguous_strides(shape);
  if (turned) {
    strides[0] = 1;
    for (size_t axis = shape.size(); axis-- > 1;)
      strides[axis] = axis + 1 == shape.size() ? shape[0] : strides[axis + 1] * shape[axis + 1];
  }
  return strided_tensor<T>(values, shape, dtype, strides);
}
std::vector<float> random_floats(int64_t count) {
  std::vector<float> values;
  for (const uint8_t byte : random_bytes(count, 1, 255))
    values.push_back(static_cast<float>(byte) / 64);
  return values;
}
template <class T>
std::vector<T> as_words(const std::vector<float>& values) {  // of which the lower half is a float
  std::vector<T> words;
  for (const float value : values) words.push_back(bits_as<uint32_t>(value));
  return words;
}
std::vector<uint16_t> random_halves(int64_t count) {
  std::vector<uint16_t> values;
  for (const uint8_t byte : random_bytes(count, 0, 255))
    values.push_back(static_cast<uint16_t>(0x3400 + 8 * byte));
  return values;
}

// Calls run(first, second) for each layout of two factors, the first ones first.
using RunOf = std::function<Bytes(const Layout&, const Layout&, bool turned)>;
void expect_one_result(const std::vector<Layout>& first, const std::vector<Layout>& second,
                       std::optional<Bytes> expected, const RunOf& run) {
  int calls = 0;
  for (const Layout& a : first)
    for (const Layout& b : second) {
      const Bytes result = run(a, b, calls++ % 2 != 0);
      if (!expected) expected = result;
      const auto [here, there] = std::mismatch(result.begin(), result.end(), expected->begin());
      EXPECT_EQ(here, result.end())
          << "first as " << a.dtype << ", way " << static_cast<int>(a.way) << ", second as "
          << b.dtype << ", way " << static_cast<int>(b.way) << ", along rows " << b.along_rows;
    }
  EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace npu_quant::testing::layouts
