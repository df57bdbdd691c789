// aclnnDynamicMxQuant, V2, V3: npu_dynamic_mx_quant.
#include "ops/dynamic_mx_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_dynamic_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v2.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v3.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<Attribute> kAttributes = {{"round_mode", "roundModeOptional"},
                                                          {"block_size", "blocksize"},
                                                          {"scale_alg", "scaleAlg"},
                                                          {"dst_type_max", "dstTypeMax"},
                                                          {"max_low_bound", "maxLowBound"}};
constexpr std::initializer_list<Format> kCodes = {Format::float8_e5m2, Format::float8_e4m3fn,
                                                  Format::float4_e2m1, Format::float4_e1m2};

constexpr Function function_of(const char* name) {
  return {.name = name, .attributes = kAttributes, .codes = kCodes};
}
constexpr Function kV1 = function_of("aclnnDynamicMxQuant");
constexpr Function kV2 = function_of("aclnnDynamicMxQuantV2");
constexpr Function kV3 = function_of("aclnnDynamicMxQuantV3");

struct Attributes {
  int64_t axis;
  const char* round_mode;  // NULL: the default
  int64_t dst_type, block_size, scale_alg;
  double dst_type_max = 0, max_low_bound = 0;  // since V2, and since V3
};

aclnnStatus plan_version(const Function& function, const aclTensor* x, const Attributes& with,
                         const aclTensor* y, const aclTensor* mxscale, uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return plan<Call<DynamicMxQuant>>(function, workspace_size, executor, [&](auto& call) {
    DynamicMxQuant& op = call.op;
    call.input("x", x, op.input);
    op.axis = with.axis;
    if (with.round_mode != nullptr) op.round_mode = with.round_mode;
    op.block_size = with.block_size;
    op.scale_alg = with.scale_alg;
    op.dst_type_max = with.dst_type_max;
    op.max_low_bound = with.max_low_bound;
    call.output("yOut", y, call.outputs[op.kY]);
    op.dst_type = call.codes_of(call.outputs[op.kY], with.dst_type);
    call.output("mxscaleOut", mxscale, call.outputs[op.kMxScale]);
    op.mxscale_array = DType::float8_e8m0fnu;
  });
}

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclnnStatus aclnnDynamicMxQuantGetWorkspaceSize(const aclTensor* x, int64_t axis,
                                                char* roundModeOptional, int64_t dstType,
                                                int64_t blocksize, int64_t scaleAlg,
                                                const aclTensor* yOut, const aclTensor* mxscaleOut,
                                                uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_version(kV1, x, {axis, roundModeOptional, dstType, blocksize, scaleAlg}, yOut,
                      mxscaleOut, workspaceSize, executor);
}

aclnnStatus aclnnDynamicMxQuantV2GetWorkspaceSize(
    const aclTensor* x, int64_t axis, char* roundModeOptional, int64_t dstType, int64_t blocksize,
    int64_t scaleAlg, double dstTypeMax, const aclTensor* yOut, const aclTensor* mxscaleOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_version(kV2, x, {axis, roundModeOptional, dstType, blocksize, scaleAlg, dstTypeMax},
                      yOut, mxscaleOut, workspaceSize, executor);
}

aclnnStatus aclnnDynamicMxQuantV3GetWorkspaceSize(
    const aclTensor* x, int64_t axis, char* roundModeOptional, int64_t dstType, int64_t blocksize,
    int64_t scaleAlg, double dstTypeMax, double maxLowBound, const aclTensor* yOut,
    const aclTensor* mxscaleOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan_version(
      kV3, x, {axis, roundModeOptional, dstType, blocksize, scaleAlg, dstTypeMax, maxLowBound},
      yOut, mxscaleOut, workspaceSize, executor);
}

NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuant, kV1)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuantV2, kV2)
NPU_QUANT_SECOND_PHASE(aclnnDynamicMxQuantV3, kV3)
