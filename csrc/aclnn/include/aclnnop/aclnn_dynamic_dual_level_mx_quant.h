// Quantizes groups of 512 elements of the last axis by a scale each, and blocks of 32 of what they
// have become by a power of two (MX):
//
//   level0 = max |x| / 6 over a group
//   t      = x / level0, rounded to x's dtype; x where level0 is 0
//   level1 = b = floor(log2(max |t|)) + 125 over a block, at least 0
//   y      = encode(t * 2^(127 - b))        saturated
//
// A block of t that holds NaN or an infinity has b = 255 and y = 0.
//
// x                    FLOAT16 or BF16, rank 1 to 7; the last axis, K, even
// smoothScaleOptional  NULL
// roundModeOptional    "rint" or NULL, ties to even; "round", ties away from zero;
//                      "floor"
// level0BlockSize      512
// level1BlockSize      32
// yOut                 FLOAT4_E2M1, of x's shape; contiguous, two codes to a byte, of which the
//                      first is the low half
// level0ScaleOut       FLOAT, of x's shape but ceil(K / 512)
// level1ScaleOut       FLOAT8_E8M0: the bytes b, of x's shape but ceil(K / 64), 2; 0 where there
//                      is no block
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_DUAL_LEVEL_MX_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_DUAL_LEVEL_MX_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnDynamicDualLevelMxQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScaleOptional, char* roundModeOptional,
    int64_t level0BlockSize, int64_t level1BlockSize, const aclTensor* yOut,
    const aclTensor* level0ScaleOut, const aclTensor* level1ScaleOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnDynamicDualLevelMxQuant(void* workspace, uint64_t workspaceSize,
                                                   aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_DUAL_LEVEL_MX_QUANT_H_
