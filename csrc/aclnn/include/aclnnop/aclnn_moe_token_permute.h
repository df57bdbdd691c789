// aclnnMoeTokenPermute, a copy of each of T tokens for each of its K indices, sorted by these:
//
//   order = the indices, sorted, equal ones in their order
//   permuteTokensOut[i] = tokens[order[i] / K];  sortedIndicesOut[order[i]] = i
//
// tokens           FLOAT16, BF16, FLOAT or INT8; (T, H)
// indices          INT32 or INT64; (T) or (T, K)
// numOutTokens     how many of the first copies are kept; 0: all; below 0: all but that many
// paddedMode       false
// permuteTokensOut tokens' dtype; (those kept, H)
// sortedIndicesOut INT32; (T * K)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_MOE_TOKEN_PERMUTE_H_
#define NPU_QUANT_ACLNNOP_ACLNN_MOE_TOKEN_PERMUTE_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnMoeTokenPermuteGetWorkspaceSize(
    const aclTensor* tokens, const aclTensor* indices, int64_t numOutTokens, bool paddedMode,
    const aclTensor* permuteTokensOut, const aclTensor* sortedIndicesOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnMoeTokenPermute(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_MOE_TOKEN_PERMUTE_H_
