// Adds, normalizes by the root of the mean square, and quantizes once or twice:
//
//   s  = x1 + x2                                             xOut, rounded to its dtype
//   t  = s / sqrt(mean(s^2) + epsilon) * gamma
//   y1 = encode(t / scales1 + zeroPoints1)                   t * scales1 without divMode
//   y2 = the same of scales2 and zeroPoints2                 all 0 without scales2
//
// x1, x2        FLOAT, FLOAT16 or BF16, of one shape
// gamma         x1's dtype and its trailing axes, which the norm runs over; axis is ignored
// scales        FLOAT or x1's dtype; gamma's shape, that of its last axis, or one element
// zeroPoints    INT32, FLOAT or x1's dtype; shapes as scales
// y1Out, y2Out  INT8, HIFLOAT8, FLOAT8_E5M2 or FLOAT8_E4M3FN, of x1's shape
// xOut          of x1's dtype and shape
#ifndef NPU_QUANT_ACLNNOP_ACLNN_ADD_RMS_NORM_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_ADD_RMS_NORM_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid; 561002 shapes do not
// fit each other.
ACLNN_API aclnnStatus aclnnAddRmsNormQuantGetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, const aclTensor* scales1,
    const aclTensor* scales2Optional, const aclTensor* zeroPoints1Optional,
    const aclTensor* zeroPoints2Optional, int64_t axis, double epsilon, bool divMode,
    aclTensor* y1Out, aclTensor* y2Out, aclTensor* xOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnAddRmsNormQuant(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_ADD_RMS_NORM_QUANT_H_
