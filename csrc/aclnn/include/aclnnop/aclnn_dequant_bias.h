// Turns the int32 sums of a product of codes into values, of row m and column n:
//
//   out = (x + bias[n]) * weightScale[n] * activateScale[m]         an INT32 bias; the sum wraps
//   out = x * weightScale[n] * activateScale[m] + bias[n]           a float bias
//
// x              INT32, shape (M, N)
// weightScale    FLOAT or BF16, shape (N)
// activateScale  FLOAT, shape (M); NULL: 1
// bias           INT32, FLOAT, FLOAT16 or BF16, shape (N); NULL: 0
// outputDtype    1 (ACL_FLOAT16) or 27 (ACL_BF16)
// out            of outputDtype, shape (M, N)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DEQUANT_BIAS_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DEQUANT_BIAS_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 561002 a shape is invalid; 161002 anything else is
// invalid.
ACLNN_API aclnnStatus aclnnDequantBiasGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weightScale, const aclTensor* activateScaleOptional,
    const aclTensor* biasOptional, int64_t outputDtype, const aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnDequantBias(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DEQUANT_BIAS_H_
