// aclnnDynamicMxQuant, V2, V3: npu_dynamic_mx_quant. aclnnDynamicMxQuantWithDualAxis, V2: the same
// along the last two axes, npu_dynamic_mx_quant_with_dual_axis. aclnnDynamicDualLevelMxQuant: by
// two levels of scales, npu_dynamic_dual_level_mx_quant.
#include "ops/dynamic_mx_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_dynamic_dual_level_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v2.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v3.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis_v2.h"
#include "ops/dynamic_dual_level_mx_quant.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kMxNames = {{"round_mode", "roundModeOptional"},
                                                       {"block_size", "blocksize"}};

constexpr Function mx_function(const char* name) {
  return {.name = name, .other_names = kMxNames, .codes = kMxFormats};
}
constexpr Function kMxQuant = mx_function("aclnnDynamicMxQuant");
constexpr Function kMxQuantV2 = mx_function("aclnnDynamicMxQuantV2");
constexpr Function kMxQuantV3 = mx_function("aclnnDynamicMxQuantV3");
constexpr Function kMxQuantDual = mx_function("aclnnDynamicMxQuantWithDualAxis");
constexpr Format kMxDualLevelCodes[] = {Format::float4_e2m1};
constexpr Function kMxDualLevel{
    .name = "aclnnDynamicDualLevelMxQuant", .other_names = kMxNames, .codes = kMxDualLevelCodes};
constexpr Function kMxQuantDualV2 = mx_function("aclnnDynamicMxQuantWithDualAxisV2");

struct MxAttributes {
  const char* round_mode;  // NULL: the default
  int64_t dst_type, scale_alg;
  double dst_type_max = 0;  // since V2
};

// All but the arrays; the first codes say what all are.
template <class CallType>
void set_attributes(CallType& call, const MxAttributes& with) {
  auto& op = call.op;
  if (with.round_mode != nullptr) op.round_mode = with.round_mode;
  op.dst_type = call.codes_of(call.outputs[0], with.dst_type);
  op.scale_alg = with.scale_alg;
  op.dst_type_max = with.dst_type_max;
  op.mxscale_array = DType::float8_e8m0fnu;
}

struct AlongAxis {
  int64_t axis, block_size;
  double max_low_bound = 0;  // since V3
};

aclnnStatus plan_one(const Function& function, const aclTensor* x, const AlongAxis& along,
                     const MxAttributes& with, const aclTensor* y, const aclTensor* mxscale,
                     uint64_t* workspace_size, aclOpExecutor** executor) {
  return plan<Call<DynamicMxQuant>>(function, workspace_size, executor, [&](auto& call) {
    DynamicMxQuant& op = call.op;
    call.input("x", x, op.input);
    call.output("yOut", y, call.outputs[op.kY]);
    call.output("mxscaleOut", mxscale, call.outputs[op.kMxScale]);
    set_attributes(call, with);
    op.axis = along.axis;
    op.block_size = along.block_size;
    op.max_low_bound = along.max_low_bound;
  });
}

struct DualOutputs {
  const aclTensor *y1, *mxscale1, *y2, *mxscale2;
};

aclnnStatus plan_dual(const Function& function, const aclTensor* x, const MxAttributes& with,
                      const DualOutputs& to, uint64_t* workspace_size, aclOpExecutor** executor) {
  return plan<Call<DynamicMxQuantWithDualAxis>>(
      function, workspace_size, executor, [&](auto& call) {
        DynamicMxQuantWithDualAxis& op = call.op;
        call.input("x", x, op.input);
        call.output("y1Out", to.y1, call.outputs[op.kY1]);
        call.output("mxscale1Out", to.mxscale1, call.outputs[op.kMxScale1]);
        call.output("y2Out", to.y2, call.outputs[op.kY2]);
        call.output("mxscale2Out", to.mxscale2, call.outputs[op.kMxScale2]);
        set_attributes(call, with);
      });
}

// Of the operator, which has no such attribute.
void expect_size(Executor& call, const char* attribute, int64_t came, int64_t size) {
  if (came != size) call.fail(Fault::attribute, attribute, {"is ", came}, {"expected ", size});
}

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnDynamicMxQuantGetWorkspaceSize(const aclTensor* x, int64_t axis,
                                                char* roundModeOptional, int64_t dstType,
                                                int64_t blocksize, int64_t scaleAlg,
                                                const aclTensor* yOut, const aclTensor* mxscaleOut,
                                                uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_one(kMxQuant, x, {axis, blocksize}, {roundModeOptional, dstType, scaleAlg}, yOut,
                  mxscaleOut, workspaceSize, executor);
}

aclnnStatus aclnnDynamicMxQuantV2GetWorkspaceSize(
    const aclTensor* x, int64_t axis, char* roundModeOptional, int64_t dstType, int64_t blocksize,
    int64_t scaleAlg, double dstTypeMax, const aclTensor* yOut, const aclTensor* mxscaleOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_one(kMxQuantV2, x, {axis, blocksize},
                  {roundModeOptional, dstType, scaleAlg, dstTypeMax}, yOut, mxscaleOut,
                  workspaceSize, executor);
}

aclnnStatus aclnnDynamicMxQuantV3GetWorkspaceSize(
    const aclTensor* x, int64_t axis, char* roundModeOptional, int64_t dstType, int64_t blocksize,
    int64_t scaleAlg, double dstTypeMax, double maxLowBound, const aclTensor* yOut,
    const aclTensor* mxscaleOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_one(kMxQuantV3, x, {axis, blocksize, maxLowBound},
                  {roundModeOptional, dstType, scaleAlg, dstTypeMax}, yOut, mxscaleOut,
                  workspaceSize, executor);
}

aclnnStatus aclnnDynamicMxQuantWithDualAxisGetWorkspaceSize(
    const aclTensor* x, char* roundModeOptional, int64_t dstType, int64_t scaleAlg,
    const aclTensor* y1Out, const aclTensor* mxscale1Out, const aclTensor* y2Out,
    const aclTensor* mxscale2Out, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_dual(kMxQuantDual, x, {roundModeOptional, dstType, scaleAlg},
                   {y1Out, mxscale1Out, y2Out, mxscale2Out}, workspaceSize, executor);
}

aclnnStatus aclnnDynamicMxQuantWithDualAxisV2GetWorkspaceSize(
    const aclTensor* x, char* roundModeOptional, int64_t dstType, int64_t scaleAlg,
    double dstTypeMax, const aclTensor* y1Out, const aclTensor* mxscale1Out, const aclTensor* y2Out,
    const aclTensor* mxscale2Out, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_dual(kMxQuantDualV2, x, {roundModeOptional, dstType, scaleAlg, dstTypeMax},
                   {y1Out, mxscale1Out, y2Out, mxscale2Out}, workspaceSize, executor);
}

aclnnStatus aclnnDynamicDualLevelMxQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* smoothScaleOptional, char* roundModeOptional,
    int64_t level0BlockSize, int64_t level1BlockSize, const aclTensor* yOut,
    const aclTensor* level0ScaleOut, const aclTensor* level1ScaleOut, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return plan<Call<DynamicDualLevelMxQuant>>(
      kMxDualLevel, workspaceSize, executor, [&](auto& call) {
        DynamicDualLevelMxQuant& op = call.op;
        call.input("x", x, op.input);
        call.optional_input("smoothScaleOptional", smoothScaleOptional, op.smooth_scale);
        call.output("yOut", yOut, call.outputs[op.kY]);
        call.output("level0ScaleOut", level0ScaleOut, call.outputs[op.kLevel0Scale]);
        call.output("level1ScaleOut", level1ScaleOut, call.outputs[op.kLevel1Scale]);
        if (roundModeOptional != nullptr) op.round_mode = roundModeOptional;
        op.dst_type = call.codes_of(call.outputs[op.kY]);
        op.mxscale_array = DType::float8_e8m0fnu;
        expect_size(call, "level0BlockSize", level0BlockSize, DualLevelMxKernel::kGroup);
        expect_size(call, "level1BlockSize", level1BlockSize, kMxCell);
      });
}

NPU_QUANT_SECOND_PHASE(aclnnDynamicDualLevelMxQuant, kMxDualLevel)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuant, kMxQuant)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuantV2, kMxQuantV2)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuantV3, kMxQuantV3)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuantWithDualAxis, kMxQuantDual)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuantWithDualAxisV2, kMxQuantDualV2)
