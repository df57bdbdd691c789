// aclnnAntiMxQuant: npu_anti_mx_quant.
#include "ops/anti_mx_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_anti_mx_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kAntiMxNames = {{"dst_type", "the dtype of y"},
                                                           {"src_type", "the dtype of x"}};
constexpr Function kAntiMxQuant{
    .name = "aclnnAntiMxQuant", .other_names = kAntiMxNames, .codes = kMxFormats};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnAntiMxQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* mxscale,
                                             int64_t axis, int64_t dstType, const aclTensor* y,
                                             uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<Call<AntiMxQuant>>(kAntiMxQuant, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.check_codes(call.op.x);
    call.op.src_type = call.request_of(call.op.x);
    call.input("mxscale", mxscale, call.op.mxscale);
    call.op.axis = axis;
    call.output("y", y, call.outputs[AntiMxQuant::kY]);
    call.op.dst_type = call.request_of(call.outputs[AntiMxQuant::kY], dstType);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnAntiMxQuant, kAntiMxQuant)
