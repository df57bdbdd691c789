// aclnnAscendQuant, V3: npu_quantize's multiplication, with rounding as named.
#include "ops/quantize.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"

namespace npu_quant::aclnn {
namespace {

constexpr Word kWords[] = {{"self", "x"},
                           {"scales", "scale"},
                           {"zero_points", "offset"},
                           {"dst_type", "the dtype of y"},
                           {"round_mode", "roundMode"},
                           {"out", "y"},
                           {nullptr, nullptr}};
constexpr Function kV1{"aclnnAscendQuant", kWords};
constexpr Function kV3{"aclnnAscendQuantV3", kWords};

using Rules = Quantize::Rules;

struct Arguments {
  const aclTensor *x, *scale, *offset;
  bool sqrt_mode;
  const char* round_mode;
  int64_t dst_type;
  const aclTensor* y;
};

struct AscendQuantCall : Call<Quantize> {
  AscendQuantCall(const Function& function, Rules rules) : Call(function, function.name, rules) {}

  void set(const Arguments& arguments) {
    input("x", arguments.x, op.self);
    input("scale", arguments.scale, op.scales);
    optional_input("offset", arguments.offset, op.zero_points);
    op.sqrt_mode = arguments.sqrt_mode;
    if (arguments.round_mode == nullptr)
      fail(Fault::attribute, "roundMode is NULL.");
    else
      op.round_mode = arguments.round_mode;
    output("y", arguments.y, outputs[Quantize::kY]);
    op.dtype = request_of(outputs[Quantize::kY], arguments.dst_type);
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnAscendQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                             const aclTensor* offset, bool sqrtMode,
                                             const char* roundMode, int32_t dstType,
                                             const aclTensor* y, uint64_t* workspaceSize,
                                             aclOpExecutor** executor) {
  const auto fill = [&](auto& call) {
    call.set({x, scale, offset, sqrtMode, roundMode, dstType, y});
  };
  return plan<AscendQuantCall>(kV1, workspaceSize, executor, fill, Rules::ascend_quant);
}

aclnnStatus aclnnAscendQuantV3GetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                               const aclTensor* offset, bool sqrtMode,
                                               const char* roundMode, int32_t dstType, int32_t axis,
                                               const aclTensor* y, uint64_t* workspaceSize,
                                               aclOpExecutor** executor) {
  const auto fill = [&](auto& call) {
    call.set({x, scale, offset, sqrtMode, roundMode, dstType, y});
    call.op.axis = axis;
  };
  return plan<AscendQuantCall>(kV3, workspaceSize, executor, fill, Rules::ascend_quant_v3);
}

aclnnStatus aclnnAscendQuant(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                             aclrtStream stream) {
  return launch(kV1, workspace, workspaceSize, executor, stream);
}
aclnnStatus aclnnAscendQuantV3(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               aclrtStream stream) {
  return launch(kV3, workspace, workspaceSize, executor, stream);
}
