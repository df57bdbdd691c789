// Packs codes of 4 bits that have an element each: the low 4 bits of an INT32, and of a FLOAT the
// code of the FLOAT4_E2M1 number that its first 10 bits are those of, 0 where they are of none.
//
// weight          INT32 or FLOAT, rank 2 or 3, without an axis of length 0
// weightInt4Pack  INT32 of INT32, FLOAT of FLOAT: eight codes in an element, the first in its
// lowest
//                 bits, and weight's shape but that the last axis, a multiple of 8, is an eighth;
//                 or INT4 and FLOAT4_E2M1: of weight's shape, contiguous, two codes in a byte, of
//                 which the first is the low half, and the last axis is even. Its format is ND.
#ifndef NPU_QUANT_ACLNNOP_ACLNN_CONVERT_WEIGHT_TO_INT4_PACK_H_
#define NPU_QUANT_ACLNNOP_ACLNN_CONVERT_WEIGHT_TO_INT4_PACK_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnConvertWeightToINT4PackGetWorkspaceSize(const aclTensor* weight,
                                                                   aclTensor* weightInt4Pack,
                                                                   uint64_t* workspaceSize,
                                                                   aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block; 361001 the stream is unknown; 561000 the executor was consumed or belongs to
// another operator.
ACLNN_API aclnnStatus aclnnConvertWeightToINT4Pack(void* workspace, uint64_t workspaceSize,
                                                   aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_CONVERT_WEIGHT_TO_INT4_PACK_H_
