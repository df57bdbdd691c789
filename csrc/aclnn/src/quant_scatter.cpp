// aclnnInplaceQuantScatter, V2: npu_quant_scatter_.
#include "ops/quant_scatter.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_quant_scatter.h"
#include "aclnnop/aclnn_quant_scatter_v2.h"

namespace npu_quant::aclnn {
namespace {

constexpr Format kInt8[] = {Format::int8};
constexpr Function kInplaceQuantScatter{.name = "aclnnInplaceQuantScatter", .codes = kInt8};
constexpr Function kInplaceQuantScatterV2{.name = "aclnnInplaceQuantScatterV2",
                                          .codes = kCodesOfBytes};

struct QuantScatterCall : Call<QuantScatter> {
  explicit QuantScatterCall(const Function& function) : Call(function, QuantScatter::Into::self) {}

  void set(const aclTensor* self, const aclTensor* indices, const aclTensor* updates,
           const aclTensor* scales, const aclTensor* zero_points, int64_t axis, int64_t quant_axis,
           int64_t reduction) {
    input_and_output("selfRef", self, op.self);
    input("indices", indices, op.indices);
    input("updates", updates, op.updates);
    input("quantScales", scales, op.quant_scales);
    optional_input("quantZeroPoints", zero_points, op.quant_zero_points);
    op.axis = axis;
    op.quant_axis = quant_axis;
    op.dst_type = codes_of(op.self);
    if (reduction != 1)
      fail(Fault::attribute, "reduction", {"is ", reduction}, "available: 1 (update)");
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnInplaceQuantScatterGetWorkspaceSize(
    aclTensor* selfRef, const aclTensor* indices, const aclTensor* updates,
    const aclTensor* quantScales, const aclTensor* quantZeroPoints, int64_t axis, int64_t quantAxis,
    int64_t reduction, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<QuantScatterCall>(kInplaceQuantScatter, workspaceSize, executor, [&](auto& call) {
    call.set(selfRef, indices, updates, quantScales, quantZeroPoints, axis, quantAxis, reduction);
  });
}

aclnnStatus aclnnInplaceQuantScatterV2GetWorkspaceSize(
    aclTensor* selfRef, const aclTensor* indices, const aclTensor* updates,
    const aclTensor* quantScales, const aclTensor* quantZeroPoints, int64_t axis, int64_t quantAxis,
    int64_t reduction, const char* roundMode, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<QuantScatterCall>(kInplaceQuantScatterV2, workspaceSize, executor, [&](auto& call) {
    call.set(selfRef, indices, updates, quantScales, quantZeroPoints, axis, quantAxis, reduction);
    if (roundMode == nullptr)
      call.fail(Fault::attribute, "roundMode", "is NULL");
    else
      call.op.round_mode = roundMode;
  });
}

NPU_QUANT_SECOND_PHASE(aclnnInplaceQuantScatter, kInplaceQuantScatter)
NPU_QUANT_SECOND_PHASE(aclnnInplaceQuantScatterV2, kInplaceQuantScatterV2)
