// Quantizes every block, some rows of some columns, with a scale of its own:
//
//   scale = max |x| / greatest          at most 1 / minScale, where minScale > 0
//   y     = encode(x / scale)           saturated; NaN: 0
//
// greatest: 127 of INT8, 32768 or dstTypeMax of HIFLOAT8, 57344 of FLOAT8_E5M2, 448 of
// FLOAT8_E4M3FN.
//
// x                  FLOAT16, BF16 or FLOAT, rank 2 or 3: ([B,] M, N)
// minScale           0 (no bound) or more, finite as a float
// roundModeOptional  "rint" or NULL; "round" for HIFLOAT8, ties away from zero
// dstType            yOut's: 2 (ACL_INT8), 34 (HIFLOAT8), 35 (FLOAT8_E5M2), 36 (FLOAT8_E4M3FN)
// rowBlockSize       1, 64, 128, 256 or 512
// colBlockSize       64, 128, 192 or 256
// dstTypeMax         0; for HIFLOAT8 also 15, 56, 224 or 32768
// yOut               of dstType, of x's shape
// scaleOut           FLOAT, ([B,] ceil(M / rowBlockSize), ceil(N / colBlockSize))
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_BLOCK_QUANT_V2_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_BLOCK_QUANT_V2_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 a dtype or shape is invalid; 561002 a value
// is invalid.
ACLNN_API aclnnStatus aclnnDynamicBlockQuantV2GetWorkspaceSize(
    const aclTensor* x, double minScale, char* roundModeOptional, int64_t dstType,
    int64_t rowBlockSize, int64_t colBlockSize, double dstTypeMax, const aclTensor* yOut,
    const aclTensor* scaleOut, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnDynamicBlockQuantV2(void* workspace, uint64_t workspaceSize,
                                               aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_BLOCK_QUANT_V2_H_
