// Adds, and normalizes by the root of the mean square:
//
//   s    = x1 + x2                                           xOut, rounded to its dtype
//   rstd = 1 / sqrt(mean(s^2) + epsilon)                     rstdOut
//   y    = s * rstd * gamma                                  yOut, rounded once
//
// x1, x2      FLOAT, FLOAT16 or BF16, of one shape
// gamma       x1's dtype and its trailing axes, which the norm runs over; [1, N] for [N], too
// yOut, xOut  of x1's dtype and shape
// rstdOut     FLOAT, of x1's shape with 1 for each axis of gamma
//
// xOut and rstdOut may be NULL where they are not wanted.
#ifndef NPU_QUANT_ACLNNOP_ACLNN_ADD_RMS_NORM_H_
#define NPU_QUANT_ACLNNOP_ACLNN_ADD_RMS_NORM_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnAddRmsNormGetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, double epsilon,
    const aclTensor* yOut, const aclTensor* rstdOut, const aclTensor* xOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnAddRmsNorm(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_ADD_RMS_NORM_H_
