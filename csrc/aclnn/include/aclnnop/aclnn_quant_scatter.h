// Quantizes updates, and puts them into selfRef:
//
//   selfRef[b, ..., p : p + L, ...] = updates[i] / quantScales + quantZeroPoints    for each i
//
// rounded to nearest, ties to even, and saturated. Where updates overlap, the later
// one counts. L is the length of axis in updates.
//
// selfRef         INT8; rank 3 to 8
// indices         INT32 or INT64: p of each i, which is b, (B); or b and p, (B, 2)
// updates         FLOAT16 or BF16; of selfRef's shape, but for the first axis, B, and axis, L
// quantScales     FLOAT or BF16; as many elements as the last axis has
// quantZeroPoints INT32 or BF16; likewise; NULL: 0
// axis            neither the first nor the last
// quantAxis       the last one, or -1
// reduction       1: selfRef is replaced
#ifndef NPU_QUANT_ACLNNOP_ACLNN_QUANT_SCATTER_H_
#define NPU_QUANT_ACLNNOP_ACLNN_QUANT_SCATTER_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnInplaceQuantScatterGetWorkspaceSize(
    aclTensor* selfRef, const aclTensor* indices, const aclTensor* updates,
    const aclTensor* quantScales, const aclTensor* quantZeroPoints, int64_t axis, int64_t quantAxis,
    int64_t reduction, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or an index leads beyond selfRef (then nothing is written); 361001 the stream is
// unknown; 561000 the executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnInplaceQuantScatter(void* workspace, uint64_t workspaceSize,
                                               aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_QUANT_SCATTER_H_
