// Dequantizes:
//
//   y = (x + offset) * scale                (x + offset) * scale * scale with sqrtMode
//
// x        INT8, INT4 (contiguous, the last axis even), INT32 (eight int4 in an element),
//          HIFLOAT8, FLOAT8_E5M2 or FLOAT8_E4M3FN; rank 1 to 8, INT32 also 0
// scale    FLOAT, of integers also BF16; as long as one of y's last two axes, or one element; rank
//          1, or x's rank with 1 along the other axes
// offset   scale's dtype and shape; NULL: 0
// dstType  1 (ACL_FLOAT16) or 27 (ACL_BF16)
// sqrtMode false for floats
// y        of dstType, and of x's shape; of INT32 eight times its last axis, or (8)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_ASCEND_ANTI_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_ASCEND_ANTI_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnAscendAntiQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* scale, const aclTensor* offset, int64_t dstType,
    bool sqrtMode, const aclTensor* y, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnAscendAntiQuant(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_ASCEND_ANTI_QUANT_H_
