// aclnnMoeFinalizeRouting, what K experts made of each of n tokens:
//
//   out[i] = x1[i] + x2[i] + the sum of scales[i, k] * (row + bias[expandedExpertIdx[i, k]])
//   row = expandedX[expandedRowIdx[k * n + i]]
//
// in float32, in the order of k, rounded once.
//
// expandedX         FLOAT16, BF16 or FLOAT; (n * K, H)
// x1                expandedX's dtype; (n, H)
// x2Optional        likewise; NULL: 0
// bias              expandedX's dtype; (E, H)
// scales            FLOAT16, BF16 or FLOAT; (n, K)
// expandedRowIdx    INT32; (n * K)
// expandedExpertIdx INT32; (n, K)
// out               expandedX's dtype; (n, H)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_H_
#define NPU_QUANT_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnMoeFinalizeRoutingGetWorkspaceSize(
    const aclTensor* expandedX, const aclTensor* x1, const aclTensor* x2Optional,
    const aclTensor* bias, const aclTensor* scales, const aclTensor* expandedRowIdx,
    const aclTensor* expandedExpertIdx, const aclTensor* out, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or an index names no row; 361001 the stream is unknown; 561000 the executor was
// consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnMoeFinalizeRouting(void* workspace, uint64_t workspaceSize,
                                              aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_H_
