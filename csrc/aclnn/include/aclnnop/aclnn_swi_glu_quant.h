// The gated linear unit of the halves of x's last axis, quantized:
//
//   o = a / (1 + exp(-a)) * b        activateLeft: a is the first half, b the second; else the
//                                    other way round
//   "static":   y = encode(o * smooth + offset)          scaleOut: 0
//   "dynamic":  o = o * smooth, scale = greatest / max |o| over a row, y = encode(o * scale)
//
// The scale is what values are multiplied by. encode: to nearest even, saturated, NaN 0; greatest:
// 127 of INT8, 7 of INT4.
//
// x                     FLOAT16, BF16 or FLOAT, rank 2 to 8; the last axis 2 H, at most 8192, a
//                       multiple of 4 for INT4
// smoothScalesOptional  NULL, or FLOAT of shape (G, H) or (G,), of G groups of rows; also (H,)
//                       where G is 1
// offsetsOptional       "static": NULL or of smoothScalesOptional's shape, as that is; "dynamic":
//                       NULL
// groupIndexOptional    NULL: one group, or INT32 of shape (G,): where each group ends. Rows behind
//                       the last group have no smooth and no offset.
// quantModeOptional     "static" or NULL, or "dynamic"
// yOut                  INT8 or INT4, of x's shape but H; INT4 is contiguous
// scaleOut              FLOAT, of x's shape without its last axis
#ifndef NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnSwiGluQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* offsetsOptional,
    const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
    const aclTensor* yOut, const aclTensor* scaleOut, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or groupIndexOptional has an invalid value; 361001 the stream is unknown; 561000
// the executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnSwiGluQuant(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_SWI_GLU_QUANT_H_
