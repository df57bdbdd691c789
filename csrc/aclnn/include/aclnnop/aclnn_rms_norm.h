// Normalizes by the root of the mean square:
//
//   rstd = 1 / sqrt(mean(x^2) + epsilon)                     rstdOut
//   y    = x * rstd * gamma                                  yOut, rounded once
//
// x        FLOAT, FLOAT16 or BF16
// gamma    FLOAT or x's dtype; of x's trailing axes, which the norm runs over
// yOut     of x's dtype and shape
// rstdOut  FLOAT, of x's shape with 1 for each axis of gamma
#ifndef NPU_QUANT_ACLNNOP_ACLNN_RMS_NORM_H_
#define NPU_QUANT_ACLNNOP_ACLNN_RMS_NORM_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid; 561002 shapes do not
// fit each other.
ACLNN_API aclnnStatus aclnnRmsNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gamma,
                                                   double epsilon, const aclTensor* yOut,
                                                   const aclTensor* rstdOut,
                                                   uint64_t* workspaceSize,
                                                   aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnRmsNorm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_RMS_NORM_H_
