// Quantizes with given scales, which multiply:
//
//   v = x * scale + offset                  x * scale * scale + offset with sqrtMode
//   y = roundMode(v)                        saturated; NaN: 0
//
// x          FLOAT, FLOAT16 or BF16, rank up to 8
// scale      x's dtype (FLOAT x takes each of the three); last axis x's or 1, others 1
// offset     scale's dtype and last axis, others 1; NULL: 0
// roundMode  "round" (ties to even), "floor", "ceil" or "trunc"
// dstType    y's: 2 (ACL_INT8), 29 (ACL_INT4), 3 (ACL_INT32: eight int4 in an element)
// y          of dstType and x's shape; the last axis is even for INT4, an eighth for INT32
#ifndef NPU_QUANT_ACLNNOP_ACLNN_ASCEND_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_ASCEND_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnAscendQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                                       const aclTensor* offset, bool sqrtMode,
                                                       const char* roundMode, int32_t dstType,
                                                       const aclTensor* y, uint64_t* workspaceSize,
                                                       aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnAscendQuant(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_ASCEND_QUANT_H_
