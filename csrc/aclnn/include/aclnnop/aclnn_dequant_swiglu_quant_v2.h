// Integers made into values again, the gated linear unit of the halves of x's last axis, quantized:
//
//   v = (x + bias) * weightScale * activationScale       of INT32; bias INT32, the sum wraps; else
//       x * weightScale * activationScale + bias
//   o = a / (1 + exp(-a)) * b        activateLeft: a is the first half of v, b the second; else the
//                                    other way round
//   swigluMode 1, 2: a, b the even and odd elements of v (1) or its halves (2), clamped:
//       a = min(a, limit), b = max(min(b, limit), -limit), o = a / (1 + exp(-alpha * a)) * (b +
//       bias)
//   "static":   y = encode(o / quantScale + quantOffset)                    scaleOut: 0
//   "dynamic":  o = o * quantScale, scale = max |o| / greatest over a row, y = encode(o / scale)
//
// encode: to nearest even, saturated, NaN 0. Rows after the last group: all 0. greatest: 127 of
// INT8, 448 of FLOAT8_E4M3FN, 57344 of FLOAT8_E5M2, 32768 of HIFLOAT8, 6 of FLOAT4_E2M1, 1.75 of
// FLOAT4_E1M2.
//
// x                        INT32, FLOAT16 or BF16, rank 2 to 8; the last axis 2 H, a multiple of 4
//                          for FLOAT4
// weightScaleOptional      INT32 x: FLOAT of shape (G, 2 H), of G groups of rows, or (2 H,) where G
//                          is 1; else NULL
// activationScaleOptional  NULL or, for INT32 x, FLOAT with one element for each row
// biasOptional             NULL or, for INT32 x, INT32, FLOAT, FLOAT16 or BF16 of
//                          weightScaleOptional's shape
// quantScaleOptional       NULL, or FLOAT of shape (G, H) or (G,), or (H,) where G is 1
// quantOffsetOptional      NULL, or with "static" FLOAT of such a shape
// groupIndexOptional       NULL: one group, or INT64 of shape (G,): how many rows each group has
// quantModeOptional        "static" or NULL, or "dynamic"
// dstType                  yOut's: 2 (ACL_INT8), 34 (HIFLOAT8), 35 (FLOAT8_E5M2), 36
//                          (FLOAT8_E4M3FN), 40 (FLOAT4_E2M1), 41 (FLOAT4_E1M2)
// roundModeOptional        "rint" or NULL; for HIFLOAT8 "round"; for FLOAT4 also
//                          "round" (ties away from zero), "floor", "ceil" and "trunc"
// activateDim              -1 or x's last axis
// swigluMode               0, 1 or 2
// clampLimit, gluAlpha,    limit, finite and above 0, alpha and bias, finite: of swigluMode 1 and 2
// gluBias
// yOut                     INT8, FLOAT8, HIFLOAT8 or FLOAT4, of x's shape but H; FLOAT4 is
// contiguous scaleOut                 FLOAT, of x's shape without its last axis
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DEQUANT_SWIGLU_QUANT_V2_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DEQUANT_SWIGLU_QUANT_V2_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnDequantSwigluQuantV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* weightScaleOptional,
    const aclTensor* activationScaleOptional, const aclTensor* biasOptional,
    const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
    const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
    int64_t dstType, char* roundModeOptional, int64_t activateDim, int64_t swigluMode,
    double clampLimit, double gluAlpha, double gluBias, const aclTensor* yOut,
    const aclTensor* scaleOut, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or groupIndexOptional has an invalid value; 361001 the stream is unknown; 561000
// the executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnDequantSwigluQuantV2(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DEQUANT_SWIGLU_QUANT_V2_H_
