// Puts scales and offsets of a quantized product into words of 64 bits:
//
//   out = f | 2^46 | (clamp(rint(offset), -256, 255) & 0x1ff) << 37
//   f   = the bits of scale, of which the last 13 are cut
//
// scale   FLOAT, rank 1 or 2
// offset  FLOAT, rank 1 or 2: one element, or as many as scale has; beside a scale of rank 1 and
//         one element also more, of rank 1; NULL: 0
// out     INT64 or UINT64, of scale's shape, or of offset's where that has more elements
#ifndef NPU_QUANT_ACLNNOP_ACLNN_TRANS_QUANT_PARAM_V2_H_
#define NPU_QUANT_ACLNNOP_ACLNN_TRANS_QUANT_PARAM_V2_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnTransQuantParamV2GetWorkspaceSize(const aclTensor* scale,
                                                             const aclTensor* offset,
                                                             const aclTensor* out,
                                                             uint64_t* workspaceSize,
                                                             aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnTransQuantParamV2(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_TRANS_QUANT_PARAM_V2_H_
