// The engine of a golden comparison: the contract. Fill in the arguments, check(), run().
#pragma once

#include "kernels/compare/compare.h"
#include "ops/contract/attributes.h"
#include "ops/contract/outputs.h"

namespace npu_quant {

// Adds what a block of two arrays differs in to what has been counted of the blocks before it. The
// result is the same to the bit for any target, number of threads and size of blocks.
struct Compare {
  static constexpr const char* kName = "compare";
  static constexpr int64_t kMostElements = int64_t{1} << 24;

  TensorView actual, golden;  // uint8 stands for any type of one byte
  TensorView is_nan;          // bool, of each code of one byte; for numbers it is not read
  int64_t first = 0;          // which element of the array the block begins with
  int64_t columns = 1;        // elements of a row of the array
  TensorView row_counts, column_counts;     // int64: differences in buckets of
  int64_t row_shift = 0, column_shift = 0;  // 2^row_shift rows and 2^column_shift columns
  // uint64. Of codes: [2, 256, 256], how often the pair (actual, golden) occurs, and where first;
  // of numbers a CompareCounts.
  TensorView counts;
  TensorView sums;  // float64: a CompareSums and a CompareExtremes; of codes nothing

  Inputs inputs();
  Attributes attributes();
  Status check() const;
  // Fails before anything is counted, or not at all.
  Status run() const;

  int64_t bytes() const;  // read

 private:
  Status check_sides() const;
  Status check_block() const;
  Status check_places() const;
  bool is_of_codes() const { return actual.dtype == DType::uint8; }
  ComparePlaces places(uint32_t* column_counts_of_thread) const;
  Status run_codes() const;
  Status run_numbers() const;
};

}  // namespace npu_quant
