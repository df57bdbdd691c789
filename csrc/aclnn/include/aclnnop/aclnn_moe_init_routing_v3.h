// aclnnMoeInitRoutingV3, which sends each of R tokens to K experts:
//
//   order = the entries of expertIdx, sorted by expert, equal ones in their order
//   expandedXOut[i] = x[order[i] / K], or codes of it
//
// x                            FLOAT16, BF16 or FLOAT, with quantMode -1 also INT8, UINT8,
//                              FLOAT8_E4M3FN or FLOAT8_E5M2; (R, H)
// expertIdx                    INT32; (R, K): entries outside the range go nowhere
// scaleOptional                FLOAT: of quantMode -1 (R), goes with its row, or of floats of 8
// bits
//                              and UINT8 also UINT8 (R, c, 2); of 0 (1); of 1 and 13 (1, H) or a
//                              row for each expert of the range; NULL: 1
// offsetOptional               FLOAT (1) with quantMode 0, else NULL
// activeNum                    slots at most, with dropPadMode 0; 0 and below: R * K
// expertCapacity               slots of each expert, with dropPadMode 1
// expertNum                    1 to 10240
// dropPadMode                  0: a slot for each row; 1: expertCapacity for each expert, whose
// other
//                              rows are dropped
// expertTokensNumType          0: running sums; 1: counts; 2: experts that have rows, and counts
// expertTokensNumFlag          whether they are counted
// quantMode                    -1: rows as they are; 0: x * scale + offset; 1: each row by its own
//                              scale, max |x * scale| / 127; 13: the same in 4 bits, by 7
// activeExpertRangeOptional    the first expert and the one behind the last; NULL: all
// rowIdxType                   0: expandedRowIdxOut has the slot of each entry, or -1; 1: the order
// expandedXOut                 x's dtype, INT8, or of quantMode 13 UINT8 with two codes each;
// (slots,
//                              H) or (expertNum, expertCapacity, H)
// expandedRowIdxOut            INT32; (R * K)
// expertTokensCountOrCumsumOut INT64; one for each expert of the range, or (expertNum, 2)
// expandedScaleOut             FLOAT, or scaleOptional's dtype with quantMode -1; one for each slot
#ifndef NPU_QUANT_ACLNNOP_ACLNN_MOE_INIT_ROUTING_V3_H_
#define NPU_QUANT_ACLNNOP_ACLNN_MOE_INIT_ROUTING_V3_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 a dtype is invalid; 561002 a shape or an
// attribute is invalid.
ACLNN_API aclnnStatus aclnnMoeInitRoutingV3GetWorkspaceSize(
    const aclTensor* x, const aclTensor* expertIdx, const aclTensor* scaleOptional,
    const aclTensor* offsetOptional, int64_t activeNum, int64_t expertCapacity, int64_t expertNum,
    int64_t dropPadMode, int64_t expertTokensNumType, bool expertTokensNumFlag, int64_t quantMode,
    const aclIntArray* activeExpertRangeOptional, int64_t rowIdxType, const aclTensor* expandedXOut,
    const aclTensor* expandedRowIdxOut, const aclTensor* expertTokensCountOrCumsumOut,
    const aclTensor* expandedScaleOut, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnMoeInitRoutingV3(void* workspace, uint64_t workspaceSize,
                                            aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_MOE_INIT_ROUTING_V3_H_
