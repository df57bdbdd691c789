// Quantizes every token, a row along the last axis, with a scale of its own:
//
//   v     = x * smooth                             x where smoothScalesOptional is NULL
//   scale = max |v| / 127
//   y     = clamp(rint(v / scale), -128, 127)      a token with NaN or an infinity: all 0
//
// x                     FLOAT16, BF16 or FLOAT, rank 2 to 8
// smoothScalesOptional  of x's dtype, rank 1, of the length of x's last axis
// yOut                  INT8, of x's shape
// scaleOut              FLOAT, of x's shape without its last axis
// groupIndexOptional    NULL, or the end of each expert's rows (E,): ACL_INT32, not judged; with it
//                       smoothScalesOptional is (E, n)
// dstType               2 (ACL_INT8)
// isSymmetrical         true with offsetOut NULL; false with one like scaleOut
// quantMode             "pertoken", "pertensor" or "perchannel" (along axis -2, without groups)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_V3_H_
#define NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_V3_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a NULL that must not be; 161002 an argument that does not fit.
ACLNN_API aclnnStatus aclnnDynamicQuantV3GetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* groupIndexOptional,
    int64_t dstType, bool isSymmetrical, const char* quantMode, const aclTensor* yOut,
    const aclTensor* scaleOut, const aclTensor* offsetOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 561000 for whatever goes wrong.
ACLNN_API aclnnStatus aclnnDynamicQuantV3(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_DYNAMIC_QUANT_V3_H_
