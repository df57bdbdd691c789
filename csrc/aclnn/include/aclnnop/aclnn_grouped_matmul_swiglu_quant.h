// Rows of codes times the matrix of their expert, a gated linear unit of the products' halves,
// quantized with a scale for each row. Of row m, which is of expert e, and column n:
//
//   INT8 weight   c = (sum over k of x * weight) * xScale[m] * weightScale[e, n]
//   INT4 weight   t = sum over groups j of k of (sum of (x - 8) * weight) * weightScale[e, j, n]
//                 c = (t + bias[e, n]) * xScale[m]
//   o = a / (1 + exp(-a)) * b        a is the first half of the row's c, b the second
//   outputScale = max |o| / 127 over the row,  output = encode(o / outputScale)
//
// encode: to nearest even, saturated, NaN 0. Rows after the last group: all 0.
//
// x             INT8 of shape (M, K)
// weight        INT8 or INT4 of shape (E, K, N), N even, or INT32, eight of INT4 each, of shape
//               (E, K, N / 8) or (E, K / 8, N), the one that fits x; INT4 is contiguous
// bias          INT8 weight: NULL; INT4: FLOAT of shape (E, N), 8 * sum of weight * weightScale
// offset        NULL
// weightScale   FLOAT of shape (E, N); of INT4 also (E, G, N), of G groups of K / G each, and INT64
//               or UINT64, which hold a float in the lower half
// xScale        FLOAT of shape (M,)
// groupList     INT64 of shape (E,): the row after each expert's rows
// output        INT8 of shape (M, N / 2)
// outputScale   FLOAT of shape (M,)
// outputOffset  NULL
#ifndef NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_SWIGLU_QUANT_H_
#define NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_SWIGLU_QUANT_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument is NULL; 161002 an argument is invalid.
ACLNN_API aclnnStatus aclnnGroupedMatmulSwigluQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* bias, const aclTensor* offset,
    const aclTensor* weightScale, const aclTensor* xScale, const aclTensor* groupList,
    aclTensor* output, aclTensor* outputScale, aclTensor* outputOffset, uint64_t* workspaceSize,
    aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or groupList has an invalid value; 361001 the stream is unknown; 561000 the
// executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnGroupedMatmulSwigluQuant(void* workspace, uint64_t workspaceSize,
                                                    aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_SWIGLU_QUANT_H_
