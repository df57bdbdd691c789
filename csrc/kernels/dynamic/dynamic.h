// The dynamic quantizers' kernels: what ops/dynamic_quant.cpp and ops/dynamic_block_quant.cpp hand
// over. One definition of each run() per target.
#pragma once

#include "core/dtype.h"
#include "core/rule.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

struct DynamicArgs {
  DType dtype;                    // of x
  Format format = Format::int8;   // of y's codes
  int64_t rows, n;                // elements of a row
  int64_t group_rows = 1, group;  // rows, and elements of each, that share a scale; fewer at ends
  Strided x;
  Strided smooth;  // float32, of the elements of a row; null where there is none
  Strided y;       // codes, 8 or 2 of int4 to an element; null where not wanted
  Strided scale;   // float32, one for each group, null where not wanted
  Rule rule;
  bool stream;  // y is to bypass the caches

  // Codes that share an element of y, and its bytes.
  int64_t packed() const { return format == Format::int4 ? 2 * y_item() : 1; }
  int64_t y_item() const { return format == Format::int4 && y.stride != 1 ? 4 : 1; }

  // Rows of a few elements take less time several at once.
  bool is_short() const { return n > 0 && n < 32 && rows > 1 && group_rows == 1; }
  // Whether elements follow on each other, and nothing else is out of the ordinary.
  bool is_in_place() const {
    return !is_short() && x.stride == size_of(dtype) && y.data != nullptr && y.stride == y_item() &&
           smooth.data == nullptr;
  }
};

// A group for each row, of elements that follow on each other, in int8. y is wanted, and its
// elements follow on each other too.
struct DynamicQuantKernel {
  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// The same in groups of kBlock, and in any format of a byte.
struct DynamicBlockQuantKernel {
  static constexpr int64_t kBlock = 128;

  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// The same in any groups and formats.
struct DynamicBlocksKernel {
  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// A group for each column, in any format: rows of a tile at least, whose elements follow on each
// other in x and in y, which is wanted.
struct DynamicColumnsKernel {
  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// Rows of any strides, with or without smooth and y.
struct DynamicPiecesKernel {
  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// The steps of DynamicBlocksKernel one by one, of one row that lies as there: amax[g] becomes the
// greatest magnitude of itself and of group g's values; and codes of the groups whose greatest
// magnitudes those are.
struct AmaxOfGroups {
  struct Args {
    const DynamicArgs& of;
    float* amax;
  };
  template <Target target>
  static void run(const Args& args);
};
struct EncodeGroups {
  struct Args {
    const DynamicArgs& of;
    const float* amax;
  };
  template <Target target>
  static void run(const Args& args);
};

// Calls use(kernel) with the fastest kernel for the call. What has none of its own, as rows of
// float8 and int4, pays for that where x is in a cache: DynamicBlocksKernel takes 1.10 to 1.24 of
// the time of DynamicQuantKernel (of float32 up to 1.46), and 1.16 to 1.40 of that of
// DynamicBlockQuantKernel; from memory all take the same.
template <class Use>
void with_dynamic_kernel(const DynamicArgs& args, Use use) {
  if (!args.is_in_place()) return use(DynamicPiecesKernel{});
  if (args.group_rows == 1 && args.packed() == 1) {
    if (args.group >= args.n && args.format == Format::int8) return use(DynamicQuantKernel{});
    if (args.group == DynamicBlockQuantKernel::kBlock) return use(DynamicBlockQuantKernel{});
  }
  use(DynamicBlocksKernel{});
}

}  // namespace npu_quant
