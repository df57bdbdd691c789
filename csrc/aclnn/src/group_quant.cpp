// aclnnGroupQuant: npu_group_quant.
#include "ops/group_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_group_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kGroupQuantNames = {{"dst_dtype", "the dtype of y"}};
constexpr Format kGroupQuantCodes[] = {Format::int8, Format::int4, Format::int32};
constexpr Function kGroupQuant{
    .name = "aclnnGroupQuant", .other_names = kGroupQuantNames, .codes = kGroupQuantCodes};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnGroupQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                            const aclTensor* groupIndex,
                                            const aclTensor* offsetOptional, int32_t dstType,
                                            aclTensor* y, uint64_t* workspaceSize,
                                            aclOpExecutor** executor) {
  return plan<Call<GroupQuant>>(kGroupQuant, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.input("scale", scale, call.op.scale);
    call.input("groupIndex", groupIndex, call.op.group_index);
    call.optional_input("offsetOptional", offsetOptional, call.op.offset);
    call.output("y", y, call.outputs[GroupQuant::kY]);
    call.op.dst_dtype = call.codes_of(call.outputs[GroupQuant::kY], dstType);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnGroupQuant, kGroupQuant)
