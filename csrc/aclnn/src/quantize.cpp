// aclnnAscendQuant, V3: npu_quantize's multiplication, with rounding as named.
#include "ops/ascend_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"

namespace npu_quant::aclnn {
namespace {

constexpr Format kIntegers[] = {Format::int8, Format::int4, Format::int32};
constexpr Function kAscendQuant{.name = "aclnnAscendQuant", .codes = kIntegers};
constexpr Function kAscendQuantV3{.name = "aclnnAscendQuantV3", .codes = kEveryCode};

using Version = AscendQuant::Version;

struct AscendQuantCall : Call<AscendQuant> {
  AscendQuantCall(const Function& function, Version version)
      : Call(function, function.name, version) {}

  void set(const aclTensor* x, const aclTensor* scale, const aclTensor* offset, bool sqrt_mode,
           const char* round_mode, int64_t dst_type, const aclTensor* y) {
    input("x", x, op.self);
    input("scale", scale, op.scales);
    optional_input("offset", offset, op.zero_points);
    op.sqrt_mode = sqrt_mode;
    if (round_mode == nullptr)
      fail(Fault::attribute, "roundMode", "is NULL");
    else
      op.round_mode = round_mode;
    output("y", y, outputs[AscendQuant::kY]);
    op.dtype = codes_of(outputs[AscendQuant::kY], dst_type);
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
    call.set(x, scale, offset, sqrtMode, roundMode, dstType, y);
  };
  return plan<AscendQuantCall>(kAscendQuant, workspaceSize, executor, fill, Version::v1);
}

aclnnStatus aclnnAscendQuantV3GetWorkspaceSize(const aclTensor* x, const aclTensor* scale,
                                               const aclTensor* offset, bool sqrtMode,
                                               const char* roundMode, int32_t dstType, int32_t axis,
                                               const aclTensor* y, uint64_t* workspaceSize,
                                               aclOpExecutor** executor) {
  const auto fill = [&](auto& call) {
    call.set(x, scale, offset, sqrtMode, roundMode, dstType, y);
    call.op.axis = axis;
  };
  return plan<AscendQuantCall>(kAscendQuantV3, workspaceSize, executor, fill, Version::v3);
}

NPU_QUANT_SECOND_PHASE(aclnnAscendQuant, kAscendQuant)
NPU_QUANT_SECOND_PHASE(aclnnAscendQuantV3, kAscendQuantV3)
