// Quantizes every token, channel, or everything, with a scale of its own:
//
//   v      = x * smooth              x where smoothScalesOptional is NULL
//   scale  = max |v| / greatest      (max v - min v) / range with an offset
//   offset = greatest - max v / scale, with offsetOut
//   y      = encode(v / scale [+ offset])   saturated; a token with NaN: all 0
//
// greatest and range: 127 and 255 of INT8, 7 and 15 of INT4, 448 of FLOAT8_E4M3FN, 57344 of
// FLOAT8_E5M2, 32768 or dstTypeMax of HIFLOAT8, and twice these.
//
// x                     FLOAT16, BF16 or FLOAT, rank 2 to 8
// smoothScalesOptional  of x's dtype, rank 1, of the length of x's last axis; per channel of the
//                       one before it
// groupIndexOptional    NULL, or where each expert's tokens end, (E,), E <= 1024: INT32, read in
//                       the second phase and not judged; smoothScalesOptional is then (E, n)
// dstType               yOut's: 2 (ACL_INT8), 29 (ACL_INT4), 3 (ACL_INT32: eight int4 in an
//                       element), 34 (HIFLOAT8), 35 (FLOAT8_E5M2), 36 (FLOAT8_E4M3FN)
// isSymmetrical         true if offsetOut is NULL, else false
// quantMode             "pertoken", "pertensor" or "perchannel" (along axis -2, without groups)
// dstTypeMax            0; for HIFLOAT8 up to 32768
// yOut                  of dstType, of x's shape; the last axis is even for INT4,
//                       an eighth for INT32
// scaleOut              FLOAT, of x's shape without its last axis; per channel without the one
//                       before it; per tensor (1)
// offsetOut             NULL, or like scaleOut
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_V4_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_V4_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnDynamicQuantV4GetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* groupIndexOptional,
    int64_t dstType, bool isSymmetrical, const char* quantMode, float dstTypeMax,
    const aclTensor* yOut, const aclTensor* scaleOut, const aclTensor* offsetOut,
    uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 561000 for any error.
ACLNN_API aclnnStatus aclnnDynamicQuantV4(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_V4_H_
