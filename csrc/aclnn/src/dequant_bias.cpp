// aclnnDequantBias: npu_dequant_bias.
#include "ops/dequant_bias.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_dequant_bias.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kDequantBiasNames = {
    {"output_dtype", "the dtype of out"}};
constexpr Function kDequantBias{.name = "aclnnDequantBias",
                                .other_names = kDequantBiasNames,
                                .shape_code = ACLNN_ERR_INNER_TILING_ERROR};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnDequantBiasGetWorkspaceSize(const aclTensor* x, const aclTensor* weightScale,
                                             const aclTensor* activateScaleOptional,
                                             const aclTensor* biasOptional, int64_t outputDtype,
                                             const aclTensor* out, uint64_t* workspaceSize,
                                             aclOpExecutor** executor) {
  return plan<Call<DequantBias>>(kDequantBias, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.input("weightScale", weightScale, call.op.weight_scale);
    call.optional_input("activateScaleOptional", activateScaleOptional, call.op.activation_scale);
    call.optional_input("biasOptional", biasOptional, call.op.bias);
    TensorView& y = call.outputs[DequantBias::kY];
    call.output("out", out, y);
    call.op.output_dtype = call.request_of(y, outputDtype, "outputDtype");
  });
}

NPU_QUANT_SECOND_PHASE(aclnnDequantBias, kDequantBias)
