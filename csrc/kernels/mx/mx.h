// Blocks with a power of 2 each: what ops/dynamic_mx_quant.cpp hands over. One definition of each
// run() per target.
#pragma once

#include "core/ceil_div.h"
#include "core/dtype.h"
#include "core/rounding.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

// How the pattern of a block's amax becomes its E8M0 byte:
//   byte = ((max(amax, least) + added) >> 23) - emax, from 0 to 254; 255 of inf and NaN
// `added` carries into the exponent where the fraction is greater than that of the greatest number
// allowed, whose exponent emax is; with 0 it is dropped. Fractions of subnormal numbers are counted
// from 2^-127 on.
struct MxRule {
  int32_t least, added, emax;
};

// Where bytes go: that of block b of a row (or a column) lies at pair b / 2, in lane b % 2.
struct MxScales {
  char* data = nullptr;  // null where not wanted
  int64_t row_stride = 0, pair_stride = 0, lane_stride = 0;

  MxScales from(int64_t row, int64_t pair) const {
    MxScales to = *this;
    if (data != nullptr) to.data += row * row_stride + pair * pair_stride;
    return to;
  }
};

struct DynamicMxArgs {
  DType dtype;      // of x
  Format format;    // of y's codes
  int64_t rows, n;  // of x
  int64_t block;    // a multiple of kMxCell
  Strided x;
  Strided y;  // bytes, of a code or of two; null where not wanted
  MxScales scales;
  MxRule rule;
  Rounding rounding;  // to_even, away_from_zero or floor
  bool stream;        // y is to bypass the caches
  // Of columns only: blocks are tiles of kMxCell columns, too, whose bytes go to each of their
  // rows.
  bool in_tiles = false;
  MxScales row_scales = {};
};

// All blocks are made of so many elements, but for what is left at the end of an axis.
inline constexpr int64_t kMxCell = 32;

// Blocks of a row. Its last lane, where it is no block's, becomes 0.
struct MxRowsKernel {
  using Args = DynamicMxArgs;
  template <Target target>
  static void run(const Args& args);
};

// Blocks of a row that has been divided before, each kGroup elements of it by a scale of their own:
// these / MAX.
struct DualLevelMxKernel {
  static constexpr int64_t kGroup = 512;

  struct Args {
    DynamicMxArgs blocks;  // in blocks of kMxCell
    Strided scale;         // float32, one for each group; null where not wanted
    float greatest;        // MAX
  };
  template <Target target>
  static void run(const Args& args);
};

// Blocks of a column: so many rows of it.
struct MxColumnsKernel {
  using Args = DynamicMxArgs;
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
