// The dynamic quantizers' kernels: what ops/dynamic_quant.cpp and ops/dynamic_block_quant.cpp hand
// over. One definition of each run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/rule.h"
#include "core/strided.h"

namespace npu_quant {

struct DynamicArgs {
  DType dtype;      // of x
  int64_t rows, n;  // elements of a row
  int64_t group;    // elements of a row that share a scale; the last group may be shorter
  Strided x;
  Strided smooth;  // float32, of the elements of a row; null where there is none
  Strided y;       // int8, null where not wanted
  Strided scale;   // float32, one for each group, null where not wanted
  Rule rule;
  float most_scale;  // no scale is greater; infinity where there is no bound
  bool stream;       // y is to bypass the caches

  // Rows of a few elements take less time several at once.
  bool is_short() const { return n > 0 && n < 32 && rows > 1; }
  // Whether elements follow on each other, and nothing else is out of the ordinary.
  bool takes_fast_loop() const {
    return !is_short() && x.stride == size_of(dtype) && y.data != nullptr && y.stride == 1 &&
           smooth.data == nullptr;
  }
};

// Rows whose elements follow on each other, a group each. y is wanted, and its elements follow on
// each other too.
struct DynamicQuantKernel {
  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// The same in groups of kBlock.
struct DynamicBlockQuantKernel {
  static constexpr int64_t kBlock = 128;

  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// Rows of any strides and any group, with or without smooth and y.
struct DynamicPiecesKernel {
  using Args = DynamicArgs;
  template <Target target>
  static void run(const Args& args);
};

// By the fast loop of a kind of groups, or in pieces.
template <class FastKernel>
void run_dynamic(const DynamicArgs& args) {
  if (args.takes_fast_loop())
    run_on_active_target<FastKernel>(args);
  else
    run_on_active_target<DynamicPiecesKernel>(args);
}

}  // namespace npu_quant
