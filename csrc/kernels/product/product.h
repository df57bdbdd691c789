// Products of a matrix of values and one of weights, for ops/split/product.h.
#pragma once

#include "core/format.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

// How a sum over k is made (docs/numerics.md 20).
enum class SumForm : uint8_t {
  exact,   // of integers, in int32, which wraps
  groups,  // of integers, exact in each group of k; the groups one after the other in float32
  chunks,  // of floats, in float32: 128 k one after the other, then these sums
  blocks,  // of 32 k in float64, rounded to float32; then these sums one after the other
};

enum class Activation : uint8_t { none, relu, swish };

struct ProductKernel {
  // What a call computes at most: a thread's part of a matrix.
  static constexpr int64_t kMostRows = 384, kMostColumns = 256;

  // A matrix whose rows are multiplied with those of the other: x as it is, the weights transposed.
  // `stride` leads along k. An array's element holds one code, or 2 or 8 of 4 bits that follow on
  // each other along k or across rows.
  struct Matrix {
    Format format;
    const char* data;
    int64_t row_stride, stride;  // of the array's elements, in bytes
    int64_t item;
    int64_t along_k, across;  // codes in an element
  };
  // Bytes of E8M0: block 2c + i of a row is at data + row * row_stride + c * stride + i * second.
  struct BlockScales {
    const char* data;  // null: all are 1
    int64_t row_stride, stride, second;
  };

  struct Args {
    int64_t rows, columns, depth;
    Matrix x, weight;
    SumForm sums;

    // Added to the sums, for each column: to exact ones an int32, or to others a float32.
    const char *integer_bias, *sum_bias;
    // groups: total + (float(sum) - float(sum of x) * offset) * scale, of (group, column); they are
    // sums of x - 8, if they are centred.
    int64_t group;
    Strided group_scale, group_offset;
    bool centred;
    // chunks: integer weights stand for (weight + offset) * scale, of (k / group, column), rounded
    // to the dtype of x.
    int64_t weight_group;
    Strided weight_scale, weight_offset;
    // blocks: * 2^(x's byte + weight's byte - 254).
    BlockScales x_scale, block_scale;
    // blocks: so many k at a time, of which the totals are multiplied by two factors and added up.
    int64_t level;  // 0: all
    Strided x_level, weight_level;

    // v = sum * scales[0] * scales[1] + bias;  activation;  v = v * late_scale + late_offset
    // float32, each for a row, for a column, or null.
    Strided scales[2], bias, late_scale, late_offset;
    Activation activation;
    DType y_dtype;  // int32: the sums; int8: saturated; else rounded
    Strided y;

    char* workspace;  // of workspace_bytes(), at a cache line
  };
  template <Target target>
  static void run(const Args& args);
};

// How much memory a call needs.
struct ProductMemory {
  struct Args {
    const ProductKernel::Args& of;
    int64_t& bytes;
  };
  template <Target target>
  static void run(const Args& args);
};

// The same on the active target: 1 MB at most; 0.4 MB more where groups are longer than 256
// k, and as much where scales have two levels.
[[gnu::visibility("hidden")]] int64_t workspace_bytes(const ProductKernel::Args& args);

}  // namespace npu_quant
