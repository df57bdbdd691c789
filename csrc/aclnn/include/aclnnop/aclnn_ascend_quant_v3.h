// Quantizes with given scales, which multiply:
//
//   v = x * scale + offset                  x * scale * scale + offset with sqrtMode
//   y = roundMode(v)                        saturated; NaN: 0
//
// x          FLOAT, FLOAT16 or BF16, rank 1 to 8
// scale      x's dtype (FLOAT x takes each of the three); rank 1 or x's,
//            of x's length along axis or 1, elsewhere 1
// offset     scale's dtype and shape; NULL: 0
// roundMode  "round" (ties to even; for HIFLOAT8 away from zero), for integers also "floor", "ceil"
//            or "trunc"
// dstType    y's: 2 (ACL_INT8), 29 (ACL_INT4), 3 (ACL_INT32: eight int4 in an element),
//            34 (HIFLOAT8), 35 (FLOAT8_E5M2), 36 (FLOAT8_E4M3FN)
// axis       from -rank to rank - 1 of x; one of the last two
// y          of dstType and x's shape; the last axis is even for INT4, an eighth for INT32
#ifndef NPU_QUANT_ACLNNOP_ACLNN_ASCEND_QUANT_V3_H_
#define NPU_QUANT_ACLNNOP_ACLNN_ASCEND_QUANT_V3_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnAscendQuantV3GetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                                         const aclTensor* offset, bool sqrtMode,
                                                         const char* roundMode, int32_t dstType,
                                                         int32_t axis, const aclTensor* y,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnAscendQuantV3(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_ASCEND_QUANT_V3_H_
