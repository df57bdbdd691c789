// Quantizes every block along an axis with a power of two of its own (MX):
//
//   amax = max |x| over the block
//   b    = floor(log2(amax)) - emax + 127, at least 0                        scaleAlg 0
//          the least byte with max(amax, maxLowBound) <= top * 2^(b - 127)   scaleAlg 1
//          the least byte with amax <= D * 2^(b - 127)                       scaleAlg 2
//   y    = encode(x * 2^(127 - b))        saturated
//
// A block that holds NaN or an infinity has b = 255 and y = 0.
// emax and top: 8 and 448 of FLOAT8_E4M3FN, 15 and 57344 of FLOAT8_E5M2, 2 and 6 of FLOAT4_E2M1, 0
// and 1.75 of FLOAT4_E1M2. D: dstTypeMax, or top where that is 0.
//
// x                  FLOAT16, BF16 or FLOAT, rank 1 to 7; the last axis even for FLOAT4
// axis               of the blocks: from -rank to rank - 1 of x
// roundModeOptional  "rint" or NULL, ties to even; for FLOAT4 also "round", ties
//                    away from zero, and "floor"
// dstType            yOut's: 35 (ACL_FLOAT8_E5M2), 36 (FLOAT8_E4M3FN), 40 (FLOAT4_E2M1),
//                    41 (FLOAT4_E1M2)
// blocksize          a multiple of 32 from 32 to 1024; 32 with scaleAlg 2
// scaleAlg           0; for FLOAT8 also 1; for FLOAT4_E2M1 also 2
// dstTypeMax         0; with scaleAlg 2 also 6 to 12
// maxLowBound        0; with scaleAlg 1 any number above that is finite as a float
// yOut               of dstType, of x's shape; FLOAT4 is contiguous, two codes to a byte, of which
//                    the first is the low half
// mxscaleOut         FLOAT8_E8M0: the bytes b. x's shape, but axis is ceil(blocks / 2) long, and a
//                    last axis of 2 is added: blocks 2 p and 2 p + 1 lie side by side; 0 where
//                    there is none
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_MX_QUANT_V3_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_MX_QUANT_V3_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnDynamicMxQuantV3GetWorkspaceSize(
    const aclTensor* x, int64_t axis, char* roundModeOptional, int64_t dstType, int64_t blocksize,
    int64_t scaleAlg, double dstTypeMax, double maxLowBound, const aclTensor* yOut,
    const aclTensor* mxscaleOut, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnDynamicMxQuantV3(void* workspace, uint64_t workspaceSize,
                                            aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_MX_QUANT_V3_H_
