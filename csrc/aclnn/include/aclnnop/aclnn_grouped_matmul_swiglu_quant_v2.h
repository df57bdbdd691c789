// Rows of codes times the matrix of their expert, a gated linear unit of the products' halves,
// quantized with a scale for each row, or in blocks. Of row m, which is of expert e, and column n:
//
//   INT8, INT8 and INT4, INT4
//                c = (sum over k of x * weight) * xScale[m] * weightScale[e, n]
//   INT8, INT4   t = sum over groups j of k of (sum of (x - 8) * weight) * weightScale[e, j, n]
//                c = (t + weightAssistMatrix[e, n]) * xScale[m]
//   MX           c = sum over blocks of 32 k of (sum of x * weight) * 2^(exponents)
//   o = a / (1 + exp(-a)) * b        a is the first half of the row's c, b the second
//   o = o * smoothScale[e]           if given
//   outputScale = max |o| / 127 over the row,  output = encode(o / outputScale)
//   MX           as aclnnDynamicMxQuant of o
//
// encode: to nearest even, saturated, NaN 0. Rows after the last group: all 0.
//
// x             INT8 or INT4 of shape (M, K), INT32, eight of INT4 each, of shape (M, K / 8), or,
// of
//               MX, FLOAT8_E4M3FN
// weight        a list of one tensor (E, K, N), N even: INT8, or x's dtype; for x of INT8 also
// INT4,
//               or INT32 of shape (E, K, N / 8) or (E, K / 8, N), the one that fits x. INT4 is
//               contiguous. ND
// weightScale   a list of one tensor: FLOAT of shape (E, N); of INT4 also INT64 or UINT64, which
// hold
//               a float in the lower half; of INT8 by INT4 also (E, G, N), of G groups of K / G
//               each; MX: FLOAT8_E8M0 of shape (E, ceil(K / 64), N, 2)
// weightAssistMatrix
//               INT8 by INT4: a list of one tensor, FLOAT of shape (E, N), 8 * sum of weight *
//               weightScale; else NULL
// bias          NULL
// xScale        FLOAT of shape (M,); MX: FLOAT8_E8M0 of shape (M, ceil(K / 64), 2)
// smoothScale   INT4 by INT4: FLOAT of shape (E, N / 2) or (E,), or NULL; else NULL
// groupList     INT64 of shape (E,): the row after each expert's rows, or how many it has
// dequantMode   0; with weightScale in groups also 1; MX: 2
// dequantDtype  0, FLOAT
// quantMode     0; MX: 2
// groupListType 0: ends; 1: how many rows
// tuningConfig  changes nothing
// output        INT8 of shape (M, N / 2); MX: FLOAT8_E4M3FN
// outputScale   FLOAT of shape (M,); MX: FLOAT8_E8M0 of shape (M, ceil(N / 128), 2)
#ifndef NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_SWIGLU_QUANT_V2_H_
#define NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_SWIGLU_QUANT_V2_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument, or an element of a list, is NULL; 161002 an argument is
// invalid.
ACLNN_API aclnnStatus aclnnGroupedMatmulSwigluQuantV2GetWorkspaceSize(
    const aclTensor* x, const aclTensorList* weight, const aclTensorList* weightScale,
    const aclTensorList* weightAssistMatrix, const aclTensor* bias, const aclTensor* xScale,
    const aclTensor* smoothScale, const aclTensor* groupList, int64_t dequantMode,
    int64_t dequantDtype, int64_t quantMode, int64_t groupListType, const aclIntArray* tuningConfig,
    aclTensor* output, aclTensor* outputScale, uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or groupList has an invalid value; 361001 the stream is unknown; 561000 the
// executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnGroupedMatmulSwigluQuantV2(void* workspace, uint64_t workspaceSize,
                                                      aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_SWIGLU_QUANT_V2_H_
