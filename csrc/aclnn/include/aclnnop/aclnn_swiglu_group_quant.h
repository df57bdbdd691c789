// The gated linear unit of the halves of x's last axis, of which blocks are quantized:
//
//   a, b  = the halves; with a clampLimit L above 0 min(a, L) and max(min(b, L), -L)
//   o     = a / (1 + exp(-a)) * b, times the row's weight if there is one
//   quantMode 0: amax  = max |o| of what is finite of 128 elements, at least 1e-4
//                scale = amax / greatest, with roundScale up to a power of two
//                y     = encode(o * (greatest / amax)), or encode(o * (1 / scale))
//   quantMode 1: amax  = max |o| of 32 elements, at least 1e-4
//                scale = the least byte b with amax <= greatest * 2^(b - 127)
//                y     = encode(o * 2^(127 - b)); 0 where a block holds NaN or an infinity: 255
//
// encode: to nearest even, saturated, NaN 0; greatest: 57344 of FLOAT8_E5M2, 448 of FLOAT8_E4M3FN.
//
// x                   FLOAT16 or BF16, rank 2 to 8, with quantMode 1 to 7; the last axis 2 H
// weightOptional      NULL, or FLOAT: one element for each row
// groupIndexOptional  NULL, or INT64 of shape (G,): how many rows each group has. Those behind all
//                     groups have results of 0.
// scaleOptional       NULL
// dstType             yOut's: 35 (ACL_FLOAT8_E5M2), 36 (ACL_FLOAT8_E4M3FN)
// quantMode           0 or 1
// blockSize           0, or 128 with quantMode 0, 32 with 1
// roundScale          true with quantMode 1
// clampLimit          L; 0 or less, as -1.0: none
// dstTypeMax          without effect
// outputOrigin        whether yOriginOut is written
// yOut                of dstType, of x's shape but H
// yScaleOut           FLOAT, of x's shape but ceil(H / 128); with quantMode 1 FLOAT8_E8M0, of x's
//                     shape but ceil(H / 64), 2: 0 where there is no block
// yOriginOut          o in x's dtype, of yOut's shape; without outputOrigin NULL or any tensor
#ifndef NPU_QUANT_ACLNNOP_ACLNN_SWIGLU_GROUP_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_SWIGLU_GROUP_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnSwigluGroupQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weightOptional, const aclTensor* groupIndexOptional,
    const aclTensor* scaleOptional, int64_t dstType, int64_t quantMode, int64_t blockSize,
    bool roundScale, double clampLimit, double dstTypeMax, bool outputOrigin, const aclTensor* yOut,
    const aclTensor* yScaleOut, const aclTensor* yOriginOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or groupIndexOptional has a value below 0; 361001 the stream is unknown; 561000 the
// executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnSwigluGroupQuant(void* workspace, uint64_t workspaceSize,
                                            aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_SWIGLU_GROUP_QUANT_H_
