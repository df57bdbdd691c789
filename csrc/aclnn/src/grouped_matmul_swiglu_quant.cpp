// aclnnGroupedMatmulSwigluQuant: npu_grouped_matmul_swiglu_quant.
#include "ops/grouped_matmul_swiglu_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kGroupedMatmulSwigluQuant{.name = "aclnnGroupedMatmulSwigluQuant"};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnGroupedMatmulSwigluQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* bias, const aclTensor* offset,
    const aclTensor* weightScale, const aclTensor* xScale, const aclTensor* groupList,
    aclTensor* output, aclTensor* outputScale, aclTensor* outputOffset, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  using Op = GroupedMatmulSwigluQuant;
  return plan<Call<Op>>(kGroupedMatmulSwigluQuant, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.input("weight", weight, call.op.weight);
    call.optional_input("bias", bias, call.op.bias);
    call.optional_input("offset", offset, call.op.offset);
    call.input("weightScale", weightScale, call.op.weight_scale);
    call.input("xScale", xScale, call.op.x_scale);
    call.input("groupList", groupList, call.op.group_list);
    call.output("output", output, call.outputs[Op::kY]);
    call.output("outputScale", outputScale, call.outputs[Op::kScale]);
    call.optional_output("outputOffset", outputOffset, call.outputs[Op::kOffset]);
    if (outputOffset != nullptr)
      call.fail(Fault::attribute, "outputOffset", "is given", "expected NULL");
    // Words, of which the lower half is a float.
    if (call.op.weight_scale.dtype == DType::uint64) call.op.weight_scale.dtype = DType::int64;
  });
}

NPU_QUANT_SECOND_PHASE(aclnnGroupedMatmulSwigluQuant, kGroupedMatmulSwigluQuant)
