// The kernel of gated linear units: what ops/split/glu_rows.cpp hands over. One definition of
// run() per target.
#pragma once

#include "core/dtype.h"
#include "core/rounding.h"
#include "core/rule.h"
#include "core/strided.h"
#include "core/target.h"
#include "kernels/elementwise/args.h"
#include "kernels/mx/mx.h"

namespace npu_quant {

struct GluKernel {
  // One of the two halves of rows. What goes with its elements is one value (stride 0), or one for
  // each element of a row (stride 4), null where there is none; read where x is int32 alone, which
  // becomes values as kernels/elementwise/dequant.h says.
  struct Half {
    Strided x;
    Strided weight_scale, bias;  // float32; a bias float32, or int32
  };

  // What becomes of the rows.
  enum class Becomes {
    values,           // of x's dtype
    codes_by_scales,  // that are given
    codes_by_amax,    // each row by a scale of its own
    codes_by_blocks,  // blocks of each row, by what is finite of them
    codes_by_mx,      // each by a power of 2, as kernels/mx/rows.cpp
    zeros,            // codes of no value, and scales
  };

  struct Args {
    DType dtype;  // of the halves
    int64_t rows, n;
    Half gate, factor;         // o = swish(gate) * factor
    Strided activation_scale;  // float32, one for each row
    Bias bias_kind;
    // Of the halves, before: gate = min(gate, limit), factor = clamp(factor, -limit, limit)
    // + factor_bias.
    bool clamps;
    float limit, alpha, factor_bias;  // swish(a) = a / (1 + exp(-alpha * a))
    Becomes becomes;
    Format codes;
    Rounding rounding;          // of float4 codes
    Strided smooth;             // o * smooth; or
    Strided weight;             // float32, one for each row: o * weight
    Strided scale, zero_point;  // o / scale + zero_point, or o * scale
    bool divide;                // by the scale
    // Null where not wanted. Scales are float32, one for each row, or each block of it.
    Strided y, scales;
    Strided origin;  // v, rounded to x's dtype
    Rule rule;
    int64_t block;       // so many elements share a scale; 0: all of a row
    float least_amax;    // of a block
    bool rounds_scales;  // up to powers of 2
    MxScales mx_scales;
    MxRule mx_rule;
    bool stream;  // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
