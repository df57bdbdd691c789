// aclnnWeightQuantBatchMatmulV2, V3: npu_weight_quant_batchmatmul.
#include "ops/weight_quant_batchmatmul.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v3.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kWeightQuantBatchMatmulV2{.name = "aclnnWeightQuantBatchMatmulV2"};
constexpr Function kWeightQuantBatchMatmulV3{.name = "aclnnWeightQuantBatchMatmulV3"};

struct WeightQuantBatchMatmulCall : Call<WeightQuantBatchmatmul> {
  using Call::Call;

  void set(const aclTensor* x, const aclTensor* weight, const aclTensor* scale,
           const aclTensor* offset, const aclTensor* quant_scale, const aclTensor* quant_offset,
           const aclTensor* bias, int group_size, const aclTensor* y) {
    input("x", x, op.x);
    input("weight", weight, op.weight);
    input("antiquantScale", scale, op.antiquant_scale);
    optional_input("antiquantOffsetOptional", offset, op.antiquant_offset);
    optional_input("quantScaleOptional", quant_scale, op.quant_scale);
    optional_input("quantOffsetOptional", quant_offset, op.quant_offset);
    optional_input("biasOptional", bias, op.bias);
    output("y", y, outputs[WeightQuantBatchmatmul::kY]);
    op.antiquant_group_size = group_size;
    // The words of aclnnTransQuantParamV2, which has both.
    if (op.quant_scale.dtype == DType::uint64) op.quant_scale.dtype = DType::int64;
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnWeightQuantBatchMatmulV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* antiquantScale,
    const aclTensor* antiquantOffsetOptional, const aclTensor* quantScaleOptional,
    const aclTensor* quantOffsetOptional, const aclTensor* biasOptional, int antiquantGroupSize,
    const aclTensor* y, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<WeightQuantBatchMatmulCall>(
      kWeightQuantBatchMatmulV2, workspaceSize, executor, [&](auto& call) {
        call.set(x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional,
                 quantOffsetOptional, biasOptional, antiquantGroupSize, y);
      });
}

aclnnStatus aclnnWeightQuantBatchMatmulV3GetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* antiquantScale,
    const aclTensor* antiquantOffsetOptional, const aclTensor* quantScaleOptional,
    const aclTensor* quantOffsetOptional, const aclTensor* biasOptional, int antiquantGroupSize,
    int innerPrecise, const aclTensor* y, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<WeightQuantBatchMatmulCall>(
      kWeightQuantBatchMatmulV3, workspaceSize, executor, [&](auto& call) {
        call.set(x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional,
                 quantOffsetOptional, biasOptional, antiquantGroupSize, y);
        call.op.inner_precise = innerPrecise;
      });
}

NPU_QUANT_SECOND_PHASE(aclnnWeightQuantBatchMatmulV2, kWeightQuantBatchMatmulV2)
NPU_QUANT_SECOND_PHASE(aclnnWeightQuantBatchMatmulV3, kWeightQuantBatchMatmulV3)
