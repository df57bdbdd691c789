// aclnnMoeTokenUnpermute, the way back from aclnnMoeTokenPermute:
//
//   out[r] = permutedTokens[sortedIndices[r * K + k]] * probs[r, k], added up in the order of k
//
// in float32, rounded once.
//
// permutedTokens       FLOAT16, BF16 or FLOAT; (N, H)
// sortedIndices        INT32 or INT64; (T * K): N and more add nothing
// probsOptional        FLOAT16, BF16 or FLOAT; (T, K); NULL: K is 1, and rows are copied
// paddedMode           false
// restoreShapeOptional NULL
// out                  permutedTokens' dtype; (T, H)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_MOE_TOKEN_UNPERMUTE_H_
#define NPU_QUANT_ACLNNOP_ACLNN_MOE_TOKEN_UNPERMUTE_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 a dtype is invalid; 561002 a shape or an
// attribute is invalid.
ACLNN_API aclnnStatus aclnnMoeTokenUnpermuteGetWorkspaceSize(
    const aclTensor* permutedTokens, const aclTensor* sortedIndices, const aclTensor* probsOptional,
    bool paddedMode, const aclIntArray* restoreShapeOptional, aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 561002 an index is below 0; 361001 the stream is unknown; 561000 the executor was
// consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnMoeTokenUnpermute(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_MOE_TOKEN_UNPERMUTE_H_
