// The gated linear unit of the two halves of an axis:
//
//   out = a / (1 + exp(-a)) * b      a the first half, b the second
//
// Each operation is rounded to float, the exponential correctly, and the result once to out's
// dtype.
//
// x    FLOAT16, BF16 or FLOAT, rank 1 to 8; the axis has an even length
// dim  of the axis: from -rank to rank - 1 of x
// out  of x's dtype, x's shape, but half as long along dim
#ifndef NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_H_
#define NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnSwiGluGetWorkspaceSize(const aclTensor* x, int64_t dim,
                                                  const aclTensor* out, uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnSwiGlu(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_H_
