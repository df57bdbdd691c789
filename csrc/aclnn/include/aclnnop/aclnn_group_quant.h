// Quantizes groups of rows, each with a row of scales, which multiply:
//
//   y = round(x * scale[e] + offset)        of the rows of group e; ties to even, saturated, NaN: 0
//
// x           FLOAT, FLOAT16 or BF16, rank 2
// scale       FLOAT, FLOAT16 or BF16, rank 2: a row for each group, with x's last axis
// groupIndex  INT32 or INT64, rank 1: the row after each group; they never decrease, and the last
//             one is the number of x's rows
// offset      scale's dtype, one element of rank 0 or 1; NULL: 0
// dstType     y's: 2 (ACL_INT8), 29 (ACL_INT4), 3 (ACL_INT32: eight int4 in an element)
// y           of dstType and x's shape; the last axis is even for INT4, an eighth for INT32
#ifndef NPU_QUANT_ACLNNOP_ACLNN_GROUP_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_GROUP_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnGroupQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                                      const aclTensor* groupIndex,
                                                      const aclTensor* offsetOptional,
                                                      int32_t dstType, aclTensor* y,
                                                      uint64_t* workspaceSize,
                                                      aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 an end in groupIndex is
// invalid, or data runs past the end of its memory block; 361001 the stream is unknown; 561000 the
// executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnGroupQuant(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_GROUP_QUANT_H_
