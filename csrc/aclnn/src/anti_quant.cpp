// aclnnAscendAntiQuant: npu_anti_quant.
#include "ops/anti_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kAntiQuantNames = {{"dst_dtype", "the dtype of y"}};
constexpr Function kAntiQuant{
    .name = "aclnnAscendAntiQuant", .other_names = kAntiQuantNames, .codes = kEveryCode};

// An element of int32 may come without an axis: y has one.
void give_an_axis(TensorView& x) {
  if (x.dtype != DType::int32 || x.rank > 0) return;
  x.rank = x.shape.rank = 1;
  x.shape.dims[0] = 1;
  x.strides[0] = sizeof(int32_t);
}

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnAscendAntiQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                                 const aclTensor* offset, int64_t dstType,
                                                 bool sqrtMode, const aclTensor* y,
                                                 uint64_t* workspaceSize,
                                                 aclOpExecutor** executor) {
  return plan<Call<AntiQuant>>(kAntiQuant, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.check_codes(call.op.x);
    give_an_axis(call.op.x);
    call.input("scale", scale, call.op.scale);
    call.optional_input("offset", offset, call.op.offset);
    call.op.sqrt_mode = sqrtMode;
    call.output("y", y, call.outputs[AntiQuant::kY]);
    call.op.dst_dtype = call.request_of(call.outputs[AntiQuant::kY], dstType);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnAscendAntiQuant, kAntiQuant)
