// npu_convert_weight_to_int4pack's kernel: what ops/convert_weight_to_int4pack.cpp hands over. One
// definition of run() per target.
#pragma once

#include "core/dispatch.h"
#include "core/strided.h"

namespace npu_quant {

struct ConvertWeightToInt4packKernel {
  struct Args {
    int64_t rows, n;
    Strided weight, y;  // elements of 32 bits, packed codes
    bool of_float4;     // the codes are of float4_e2m1, looked up by the elements' first 10 bits
    bool stream;        // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
