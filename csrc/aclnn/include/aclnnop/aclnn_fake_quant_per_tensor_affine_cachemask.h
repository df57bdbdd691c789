// Quantizes and dequantizes again, with one scale for the whole tensor:
//
//   q    = zeroPoint + rint(self * (1 / scale))
//   mask = quantMin <= q <= quantMax
//   out  = (clamp(q, quantMin, quantMax) - zeroPoint) * scale
//
// self       FLOAT, FLOAT16 or BF16
// scale      FLOAT, FLOAT16 or BF16; one element, of any rank
// zeroPoint  INT32; one element, of any rank; within +-2^24
// out        FLOAT, FLOAT16 or BF16, of self's shape
// mask       BOOL, of self's shape
//
// quantMin <= quantMax, both within +-2^24. NaN gives quantMin and a mask of false.
// fakeQuantEnabled below 1 copies self to out and true to mask.
#ifndef NPU_QUANT_ACLNNOP_ACLNN_FAKE_QUANT_PER_TENSOR_AFFINE_CACHEMASK_H_
#define NPU_QUANT_ACLNNOP_ACLNN_FAKE_QUANT_PER_TENSOR_AFFINE_CACHEMASK_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnFakeQuantPerTensorAffineCachemaskGetWorkspaceSize(
    const aclTensor* self, const aclTensor* scale, const aclTensor* zeroPoint,
    float fakeQuantEnabled, int64_t quantMin, int64_t quantMax, aclTensor* out, aclTensor* mask,
    uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or a zero point is not allowed; 361001 the stream is unknown; 561000 the executor
// was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnFakeQuantPerTensorAffineCachemask(void* workspace,
                                                             uint64_t workspaceSize,
                                                             aclOpExecutor* executor,
                                                             aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_FAKE_QUANT_PER_TENSOR_AFFINE_CACHEMASK_H_
