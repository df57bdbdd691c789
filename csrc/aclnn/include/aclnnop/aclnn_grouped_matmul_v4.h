// Rows of x times the weight of their group: what the experts of a layer do. The dtypes say what is
// computed, of row m and column n of a group's product:
//
//   FLOAT, FLOAT16, BF16   out = x @ weight + bias
//   INT8, INT8             out = (x @ weight + bias) * scale[n] * perTokenScale[m]      INT32 bias
//                          out = x @ weight * scale[n] * perTokenScale[m] + bias        other bias
//   INT8, INT4             out = (sum over groups of k of (x - 8) @ weight * scale + bias)
//                                * perTokenScale[m]
//   INT4, INT4             out = sum over groups of k of x @ weight * scale * perTokenScale[m]
//   FLOAT16 or BF16, INT8 or INT4
//                          out = x @ w + bias,  w = (weight + antiquantOffset) * antiquantScale
//   FLOAT8_E4M3FN, FLOAT4_E2M1
//                          out = sum over blocks of 32 k of x @ weight * 2^(exponents) + bias
//
// Sums of integers are exact in int32 and wrap; all else is float32, rounded once more to out's
// dtype. out's rows after the last group: 0.
//
// Lists hold one tensor or one for each group, "E of them". With one weight (E, K, N) every
// parameter is a list of one tensor that has an axis E in front. Lists that are optional may be
// NULL, empty, or of NULL or one tensor of shape (0,).
//
// x                       one (M, K), or E of (M_e, K); without groupListOptional of rank 2 to 6
// weight                  one (E, K, N), or E of (K, N), of any strides; INT4 and FLOAT4_E2M1 are
//                         contiguous. INT32 is eight of INT4, in x too. ND
// biasOptional            (N,): FLOAT16 for x of FLOAT16; for INT8 INT32, FLOAT, FLOAT16 or BF16;
//                         else FLOAT; of INT4 x NULL
// scaleOptional           INT8: (N,) FLOAT or BF16; for out of INT8 UINT64 or INT64 words of
//                         aclnnTransQuantParamV2; for out of INT32 NULL. INT4: (G, N), of G groups
//                         of K / G k, UINT64, INT64 or FLOAT. MX: FLOAT8_E8M0 (ceil(K / 64), N, 2)
// offsetOptional          NULL
// antiquantScaleOptional  (N,), of INT4 also (G, N): x's dtype
// antiquantOffsetOptional the same, or NULL
// perTokenScaleOptional   as many as x: FLOAT (M,); of MX FLOAT8_E8M0 (M, ceil(K / 64), 2)
// groupListOptional       INT64: by groupListType 0 the end of each group, 1 its length, both (E,),
//                         2 rows of (the number of a weight, a length), no weight twice, (n, 2). Of
//                         several x it says their lengths, or is NULL
// activation*Optional     NULL
// splitItem               0, 1: out has as many tensors as weight, of one (E, K, N) one; 2, 3: one
//                         for all
// groupType               0: groups of rows; -1: an x for each weight, no groupListOptional; 2:
//                         groups of columns of x, and of rows of one weight (K, N), of floats
// actType                 0: none; of INT8 to FLOAT16 or BF16 with perTokenScale 1: relu, 5: swish
// out                     (M, N), or E of (.., N); for groupType 2 (E, M, N): of floats x's dtype;
//                         INT8: INT8, INT32, FLOAT16 or BF16; INT4: the last two; MX: also FLOAT
// *OutOptional            NULL
#ifndef NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_V4_H_
#define NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_V4_H_

#include "../aclnn/aclnn_base.h"
#include "aclnn_util.h"

extern "C" {

// Checks the arguments, makes an executor and sets *workspaceSize to 0. A failure sets neither.
//
// Codes: 0; 161001 a required argument, or an element of a list, is NULL; 161002 an argument is
// invalid.
ACLNN_API aclnnStatus aclnnGroupedMatmulV4GetWorkspaceSize(
    const aclTensorList* x, const aclTensorList* weight, const aclTensorList* biasOptional,
    const aclTensorList* scaleOptional, const aclTensorList* offsetOptional,
    const aclTensorList* antiquantScaleOptional, const aclTensorList* antiquantOffsetOptional,
    const aclTensorList* perTokenScaleOptional, const aclTensor* groupListOptional,
    const aclTensorList* activationInputOptional, const aclTensorList* activationQuantScaleOptional,
    const aclTensorList* activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,
    int64_t groupListType, int64_t actType, aclTensorList* out,
    aclTensorList* activationFeatureOutOptional, aclTensorList* dynQuantScaleOutOptional,
    uint64_t* workspaceSize, aclOpExecutor** executor);

// Computes, in the order of the stream, and consumes the executor unless it is repeatable.
//
// Codes: 0; 161001 executor or the data of a tensor is NULL; 161002 data runs past the end of its
// memory block, or groupListOptional has an invalid value; 361001 the stream is unknown; 561000 the
// executor was consumed or belongs to another operator.
ACLNN_API aclnnStatus aclnnGroupedMatmulV4(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

}  // extern "C"

#endif  // NPU_QUANT_ACLNNOP_ACLNN_GROUPED_MATMUL_V4_H_
