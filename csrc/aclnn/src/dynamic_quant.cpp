// aclnnDynamicQuant, V2, V3, V4: npu_dynamic_quant.
#include "ops/dynamic_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v2.h"
#include "aclnnop/aclnn_dynamic_quant_v3.h"
#include "aclnnop/aclnn_dynamic_quant_v4.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function dynamic_function(const char* name) {
  return {.name = name, .codes = kEveryCode, .phase_2_code = ACLNN_ERR_INNER};
}
constexpr Function kDynamicQuant = dynamic_function("aclnnDynamicQuant");
constexpr Function kDynamicQuantV2 = dynamic_function("aclnnDynamicQuantV2");
constexpr Function kDynamicQuantV3 = dynamic_function("aclnnDynamicQuantV3");
constexpr Function kDynamicQuantV4 = dynamic_function("aclnnDynamicQuantV4");

// The tensors of the versions after the first; the group index and the offset may be NULL.
struct TensorArguments {
  const aclTensor *x, *smooth_scales, *group_index, *y, *scale, *offset;
};

struct DynamicQuantCall : Call<DynamicQuant> {
  using Call::Call;

  void set_inputs(const aclTensor* x, const aclTensor* smooth_scales) {
    input("x", x, op.input);
    optional_input("smoothScalesOptional", smooth_scales, op.smooth_scales);
  }
  void set_outputs(const aclTensor* y, const aclTensor* scale) {
    output("yOut", y, outputs[DynamicQuant::kY]);
    output("scaleOut", scale, outputs[DynamicQuant::kScale]);
  }
  void set(const TensorArguments& tensors, int64_t dst_type) {
    set_inputs(tensors.x, tensors.smooth_scales);
    optional_input("groupIndexOptional", tensors.group_index, op.group_index);
    set_outputs(tensors.y, tensors.scale);
    op.dst_type = codes_of(outputs[DynamicQuant::kY], dst_type);
    optional_output("offsetOut", tensors.offset, outputs[DynamicQuant::kOffset]);
    op.symmetric = tensors.offset == nullptr;
  }
  void set_mode(bool is_symmetrical, const char* quant_mode) {
    if (is_symmetrical != op.symmetric)
      fail(Fault::attribute, "isSymmetrical", is_symmetrical ? "is true" : "is false",
           is_symmetrical ? "but offsetOut is given" : "but offsetOut is NULL");
    if (quant_mode == nullptr) fail(Fault::attribute, "quantMode", "is NULL");
    if (quant_mode != nullptr) op.quant_mode = quant_mode;
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnDynamicQuantGetWorkspaceSize(const aclTensor* x,
                                              const aclTensor* smoothScalesOptional,
                                              const aclTensor* yOut, const aclTensor* scaleOut,
                                              uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<DynamicQuantCall>(kDynamicQuant, workspaceSize, executor, [&](auto& call) {
    call.set_inputs(x, smoothScalesOptional);
    call.set_outputs(yOut, scaleOut);
    call.op.dst_type = call.codes_of(call.outputs[DynamicQuant::kY]);
  });
}

aclnnStatus aclnnDynamicQuantV2GetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* groupIndexOptional,
    int64_t dstType, const aclTensor* yOut, const aclTensor* scaleOut, const aclTensor* offsetOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<DynamicQuantCall>(kDynamicQuantV2, workspaceSize, executor, [&](auto& call) {
    call.set({x, smoothScalesOptional, groupIndexOptional, yOut, scaleOut, offsetOut}, dstType);
  });
}

aclnnStatus aclnnDynamicQuantV3GetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* groupIndexOptional,
    int64_t dstType, bool isSymmetrical, const char* quantMode, const aclTensor* yOut,
    const aclTensor* scaleOut, const aclTensor* offsetOut, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return plan<DynamicQuantCall>(kDynamicQuantV3, workspaceSize, executor, [&](auto& call) {
    call.set({x, smoothScalesOptional, groupIndexOptional, yOut, scaleOut, offsetOut}, dstType);
    call.set_mode(isSymmetrical, quantMode);
  });
}

aclnnStatus aclnnDynamicQuantV4GetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScalesOptional, const aclTensor* groupIndexOptional,
    int64_t dstType, bool isSymmetrical, const char* quantMode, float dstTypeMax,
    const aclTensor* yOut, const aclTensor* scaleOut, const aclTensor* offsetOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<DynamicQuantCall>(kDynamicQuantV4, workspaceSize, executor, [&](auto& call) {
    call.set({x, smoothScalesOptional, groupIndexOptional, yOut, scaleOut, offsetOut}, dstType);
    call.set_mode(isSymmetrical, quantMode);
    call.op.dst_type_max = static_cast<double>(dstTypeMax);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnDynamicQuant, kDynamicQuant)
NPU_QUANT_SECOND_PHASE(aclnnDynamicQuantV2, kDynamicQuantV2)
NPU_QUANT_SECOND_PHASE(aclnnDynamicQuantV3, kDynamicQuantV3)
NPU_QUANT_SECOND_PHASE(aclnnDynamicQuantV4, kDynamicQuantV4)
