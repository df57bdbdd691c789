// aclnnMoeFinalizeRoutingV2, what K experts made of each of n tokens:
//
//   out[i] = x1[i] + x2[i] + the sum of scales[i, k] * (row + bias[expertIdx[i, k]])
//
//   dropPadMode 0, 1   row = expandedX[expandedRowIdx[k * n + i]]
//   dropPadMode 2, 3   row = expandedX[expandedRowIdx[i * K + k]]
//
// in float32, in the order of k, rounded once. With dropPadMode 1 and 3 rows are slots of experts,
// numbered through, and the row of the index -1 is 0.
//
// expandedX         FLOAT16, BF16 or FLOAT; (n * K, H), with dropPadMode 1 and 3 (E, C, H)
// expandedRowIdx    INT32; (n * K)
// x1Optional        expandedX's dtype; (n, H); NULL: 0
// x2Optional        likewise
// biasOptional      expandedX's dtype; (E, H); NULL: 0
// scalesOptional    FLOAT16, BF16 or FLOAT; (n, K); NULL: K is 1 and all scales are 1
// expertIdxOptional INT32; (n, K); required with biasOptional
// dropPadMode       0 to 3
// out               expandedX's dtype; (n, H)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_V2_H_
#define NPU_QUANT_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_V2_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 a dtype is invalid; 561002 a shape or an
// attribute is invalid.
ACLNN_API aclnnStatus aclnnMoeFinalizeRoutingV2GetWorkspaceSize(
    const aclTensor* expandedX, const aclTensor* expandedRowIdx, const aclTensor* x1Optional,
    const aclTensor* x2Optional, const aclTensor* biasOptional, const aclTensor* scalesOptional,
    const aclTensor* expertIdxOptional, int64_t dropPadMode, const aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 561002 an index names no row; 361001 the stream is unknown; 561000 the executor was
// consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnMoeFinalizeRoutingV2(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_V2_H_
