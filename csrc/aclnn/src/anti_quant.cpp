// aclnnAscendAntiQuant: npu_anti_quant.
#include "ops/anti_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<Attribute> kAttributes = {{"dst_dtype", "the dtype of y"}};
constexpr Function kFunction{.name = "aclnnAscendAntiQuant", .attributes = kAttributes};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnAscendAntiQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                                 const aclTensor* offset, int64_t dstType,
                                                 bool sqrtMode, const aclTensor* y,
                                                 uint64_t* workspaceSize,
                                                 aclOpExecutor** executor) {
  return plan<Call<AntiQuant>>(kFunction, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.take_int8_only("x", call.op.x);
    call.input("scale", scale, call.op.scale);
    call.optional_input("offset", offset, call.op.offset);
    call.op.sqrt_mode = sqrtMode;
    call.output("y", y, call.outputs[AntiQuant::kY]);
    call.op.dst_dtype = call.request_of(call.outputs[AntiQuant::kY], dstType);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnAscendAntiQuant, kFunction)
