// The kernels of a golden comparison: what ops/compare.cpp hands over. One definition of run() per
// target.
#pragma once

#include "core/dtype.h"
#include "core/target.h"

namespace npu_quant {

// Where differences are counted. Element i of a call is element first + i of the array, whose rows
// have `columns` elements; it is counted in row_counts[row >> row_shift], which threads share, and
// in column_counts[column >> column_shift], which they do not.
struct ComparePlaces {
  int64_t first, columns;
  int64_t* row_counts;
  uint32_t* column_counts;
  int row_shift, column_shift;
};

inline constexpr int kCodes = 256;

// Arrays of one byte per element, whatever it means: how often each pair of codes occurs.
struct CompareCodesKernel {
  struct Args {
    const char* actual;
    const char* golden;
    int64_t begin, end;  // the elements of the call to do
    const char* is_nan;  // of each code, 0 or 1; two NaN are no difference
    ComparePlaces places;
    uint32_t* pairs;          // [actual][golden], of those that differ in a bit
    uint32_t* first_of_pair;  // where the first of them is; set where there is one
    uint32_t* golden_counts;  // of all elements
  };
  template <Target target>
  static void run(const Args& args);
};

// What is counted of numbers. It has no padding: Python sees it as uint64
// (golden/measure/metrics.py).
struct CompareCounts {
  static constexpr uint64_t kNone = ~uint64_t{0};

  uint64_t mismatches = 0;
  uint64_t steps_below[3] = {};  // finite pairs, actual 1, 2, more steps below golden
  uint64_t steps_above[3] = {};
  uint64_t over_relative[4] = {};
  uint64_t saturated_actual = 0, saturated_golden = 0;
  uint64_t sign_flips = 0, rounded_to_zero = 0, zero_signs = 0;
  uint64_t kinds[4][4] = {};  // pairs that are not both finite: finite, NaN, inf, -inf

  // Those above are added up, these are not.
  uint64_t first = kNone;   // of the mismatches
  uint64_t worst = kNone;   // the first of the greatest difference; none where all are of 0 and -0
  uint64_t worst_size = 0;  // orders differences: steps of integers, the bits of |difference| of
                            // floats, and all ones where one is not finite
  uint64_t max_steps = 0;
};
inline constexpr int kCompareAdded = 32, kCompareCounts = 36;
static_assert(sizeof(CompareCounts) == kCompareCounts * sizeof(uint64_t));

// The greatest differences and the ranges of finite values; as Python sees it, as above.
struct CompareExtremes {
  double max_abs = 0, max_relative = 0;
  double actual_least = __builtin_inf(), golden_least = __builtin_inf();
  double actual_greatest = -__builtin_inf(), golden_greatest = -__builtin_inf();
};

// Sums over pairs that are both finite. Those over differing pairs and that over equal ones are
// apart.
struct CompareSums {
  double absolute = 0, squares = 0, relative = 0, difference = 0;
  double steps = 0, signed_steps = 0;
  double actual_squares = 0, golden_squares = 0, products = 0;  // of differing pairs
  double equal_squares = 0;
};
inline constexpr int kCompareSums = 10, kCompareExtremes = 6;
static_assert(sizeof(CompareSums) == kCompareSums * sizeof(double));
static_assert(sizeof(CompareExtremes) == kCompareExtremes * sizeof(double));

// Sums are per chunk of so many elements, counted from the array's beginning; the op adds them up
// in order. Within a chunk they have eight lanes: equal pair i is added to lane i % 8, the j-th
// differing pair of those that are finite to lane j % 8, and the lanes are added as
// ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
inline constexpr int64_t kCompareChunk = 4096;

// Arrays of numbers of 2, 4 or 8 bytes.
struct CompareNumbersKernel {
  struct Args {
    DType dtype;
    const char* actual;
    const char* golden;
    int64_t begin, end;  // begin is a multiple of kCompareChunk
    ComparePlaces places;
    CompareCounts* counts;
    CompareExtremes* extremes;
    CompareSums* sums;  // of each chunk of the call
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
