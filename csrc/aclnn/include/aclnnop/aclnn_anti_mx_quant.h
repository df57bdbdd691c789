// Turns the codes of MX blocks, 32 along an axis each, back into numbers:
//
//   y = c * 2^(b - 127)      c: the number that x's code stands for, b: its block's byte of mxscale
//
// Rounded to nearest, ties to even; what is beyond y's range is infinite. b = 255 gives NaN.
//
// x        FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT4_E2M1 or FLOAT4_E1M2, rank 1 to 7; FLOAT4 is
//          contiguous, two codes to a byte, of which the first is the low half, the last axis even
// mxscale  FLOAT8_E8M0 or UINT8, as aclnnDynamicMxQuant gives it: x's shape, but axis is
//          ceil(blocks / 2) long, and a last axis of 2 is added
// axis     of the blocks: from -rank to rank - 1 of x
// dstType  y's: 0 (ACL_FLOAT), 1 (ACL_FLOAT16) or 27 (ACL_BF16)
// y        of dstType, and of x's shape
#ifndef NPU_QUANT_ACLNNOP_ACLNN_ANTI_MX_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_ANTI_MX_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnAntiMxQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* mxscale,
                                                       int64_t axis, int64_t dstType,
                                                       const aclTensor* y, uint64_t* workspaceSize,
                                                       aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnAntiMxQuant(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_ANTI_MX_QUANT_H_
