// The gated linear unit of the two halves of an axis:
//
//   out = a / (1 + exp(-a)) * b      a the first half, b the second
//
// Each operation is rounded to float, the exponential correctly, and the result once to out's
// dtype.
//
// x    FLOAT16, BF16 or FLOAT, rank 1 to 8; the axis has an even length
// dim  of the axis: from -rank to rank - 1 of x
// out  of x's dtype, of x's shape, but half as long along dim
#ifndef NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_H_
#define NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a NULL that must not be; 161002 an argument that does not fit.
ACLNN_API aclnnStatus aclnnSwiGluGetWorkspaceSize(const aclTensor* x, int64_t dim,
                                                  const aclTensor* out, uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data that its block does not
// hold; 361001 an unknown stream; 561000 an executor that was consumed or is another operator's.
ACLNN_API aclnnStatus aclnnSwiGlu(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_H_
