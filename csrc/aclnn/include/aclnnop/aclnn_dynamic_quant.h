// Quantizes every token, a row along the last axis, with a scale of its own:
//
//   v     = x * smooth                  x where smoothScalesOptional is NULL
//   scale = max |v| / greatest
//   y     = encode(v / scale)          saturated; a token with NaN: all 0
//
// greatest and range: 127 and 255 of INT8, 7 and 15 of INT4, 448 of FLOAT8_E4M3FN, 57344 of
// FLOAT8_E5M2, 32768 of HIFLOAT8, and twice these.
//
// x                     FLOAT16, BF16 or FLOAT, rank 2 to 8
// smoothScalesOptional  of x's dtype, rank 1, of the length of x's last axis
// yOut                  INT8, INT4, INT32 (eight int4 in an element), HIFLOAT8, FLOAT8_E5M2 or
//                       FLOAT8_E4M3FN, of x's shape; the last axis is even for INT4,
//                       an eighth for INT32
// scaleOut              FLOAT, of x's shape without its last axis
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnDynamicQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* yOut,
    const aclTensor* scaleOut, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 561000 for any error.
ACLNN_API aclnnStatus aclnnDynamicQuant(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_H_
