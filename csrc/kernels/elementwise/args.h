// The elementwise kernels: what their ops hand over. Each has a .cpp of its name, and one
// definition of run() per target.
#pragma once

#include "core/dtype.h"
#include "core/rounding.h"
#include "core/rule.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

inline constexpr int kMostParameters = 4;

// What all of them take: a part of the work.
struct ElementwiseArgs {
  int64_t rows, n;
  Strided x, y;  // of the kernel's element types
  const int64_t* y_rows =
      nullptr;  // where each row of y begins, in bytes, instead of by row_stride
  // float32. Each by itself has one value for all elements of a row (a stride of 0) or one for each
  // (4), which all rows share (a row_stride of 0) or not.
  Strided parameters[kMostParameters] = {};
  Strided read_mask = {}, written_mask = {};  // null where there is none
  Rule rule = {};
  bool stream = false;  // outputs are to bypass the caches
};

// What dividing by scales goes by (kernels/dynamic/quotient.h).
struct StepsKernel {
  struct Args {
    Format codes;
    int64_t count;
    const char *scale, *zero_point;  // float32, as are
    char *factor, *offset;           // offset: for bytes alone
  };
  template <Target target>
  static void run(const Args& args);
};

struct QuantizeKernel {
  // Scales are multipliers where the rule multiplies. Factors and offsets are those of StepsKernel,
  // where integers are divided.
  enum { kScale, kZeroPoint, kFactor, kOffset, kParameters };
  struct Args {
    ElementwiseArgs work;
    DType x_dtype;
    Format codes;
    bool divide = true;                     // x / scale, else x * scale
    bool twice = false;                     // x * scale * scale; not to be divided
    Rounding rounding = Rounding::to_even;  // another where x is multiplied and y int8 or int4
  };
  template <Target target>
  static void run(const Args& args);
};

// Codes that have a byte each.
struct CopyBytesKernel {
  struct Args {
    ElementwiseArgs work;
  };
  template <Target target>
  static void run(const Args& args);
};

struct AntiQuantKernel {
  enum { kScale, kOffset, kParameters };
  struct Args {
    ElementwiseArgs work;
    Format codes;            // of x: int8, int4 or a float of 8 bits
    DType y_dtype;           // float16 or bfloat16
    bool sqrt_mode = false;  // the product is multiplied by the scale once more
  };
  template <Target target>
  static void run(const Args& args);
};

// What is added to int32 sums, or to what they stand for.
enum class Bias { none, integer, real };

struct DequantBiasKernel {
  enum { kWeightScale, kActivationScale, kBias, kParameters };  // an integer bias: int32
  struct Args {
    ElementwiseArgs work;  // x: int32
    DType y_dtype;         // float16 or bfloat16
    Bias bias = Bias::none;
  };
  template <Target target>
  static void run(const Args& args);
};

struct FakeQuantizeKernel {
  enum { kScale, kZeroPoint, kInverse, kParameters };  // inverse: fl(1 / scale)
  struct Args {
    ElementwiseArgs work;  // y is null where not wanted
    DType x_dtype, y_dtype;
    float quant_min = 0, quant_max = 0;
    bool float_zero_point = false;
    bool enabled;  // else y is x, and the mask all 1
  };
  template <Target target>
  static void run(const Args& args);
};

// x is the gradient of the output, y that of the input.
struct FakeQuantizeBackwardKernel {
  struct Args {
    ElementwiseArgs work;
    DType dtype;
  };
  template <Target target>
  static void run(const Args& args);
};

struct QuantizeValKernel {
  enum { kInverse, kZeroPoint, kParameters };  // inverse: fl(1 / scale)
  struct Args {
    ElementwiseArgs work;
    DType x_dtype;
    Format codes;  // int8, uint8, int32
  };
  template <Target target>
  static void run(const Args& args);
};

struct DequantizeValKernel {
  enum { kScale, kZeroPoint, kParameters };  // the zero point is int32
  struct Args {
    ElementwiseArgs work;  // y: float32
    Format codes;
  };
  template <Target target>
  static void run(const Args& args);
};

struct DtypeCastKernel {
  struct Args {
    ElementwiseArgs work;
    Format from, to;  // float32, float16, bfloat16 or a small one
  };
  template <Target target>
  static void run(const Args& args);
};

struct TransQuantParamKernel {
  enum { kOffset, kParameters };
  struct Args {
    ElementwiseArgs work;  // x, the scale: float32; y: int64
    bool rounds;           // the scale to the nearest of 19 bits, or else cuts it
  };
  template <Target target>
  static void run(const Args& args);
};

struct ConvertWeightToInt4packKernel {
  struct Args {
    ElementwiseArgs work;  // elements of 32 bits, packed codes
    bool of_float4;        // the codes are of float4_e2m1, looked up by the elements' first 10 bits
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
