// aclnnAddRmsNorm, aclnnRmsNorm: npu_add_rms_norm, npu_rms_norm.
#include "ops/add_rms_norm.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_add_rms_norm.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "ops/split/norm_rows.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kRmsNorm{.name = "aclnnRmsNorm", .shape_code = ACLNN_ERR_INNER_TILING_ERROR};
constexpr Function kAddRmsNorm{.name = "aclnnAddRmsNorm"};

using AddRmsNormCall = Call<AddRmsNorm>;

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnRmsNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gamma, double epsilon,
                                         const aclTensor* yOut, const aclTensor* rstdOut,
                                         uint64_t* workspaceSize, aclOpExecutor** executor) {
  constexpr bool kAdds = false;
  const auto fill = [&](auto& call) {
    call.input("x", x, call.op.x1);
    call.input("gamma", gamma, call.op.gamma);
    call.op.epsilon = epsilon;
    call.output("yOut", yOut, call.outputs[AddRmsNorm::kY]);
    call.output("rstdOut", rstdOut, call.outputs[AddRmsNorm::kRstd]);
  };
  return plan<AddRmsNormCall>(kRmsNorm, workspaceSize, executor, fill, kAdds);
}

aclnnStatus aclnnAddRmsNormGetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                            const aclTensor* gamma, double epsilon,
                                            const aclTensor* yOut, const aclTensor* rstdOut,
                                            const aclTensor* xOut, uint64_t* workspaceSize,
                                            aclOpExecutor** executor) {
  return plan<AddRmsNormCall>(kAddRmsNorm, workspaceSize, executor, [&](auto& call) {
    call.input("x1", x1, call.op.x1);
    call.input("x2", x2, call.op.x2);
    call.input("gamma", gamma, call.op.gamma);
    call.op.gamma = last_axis_of(call.op.gamma);  // [1, N] is [N]
    call.op.epsilon = epsilon;
    call.output("yOut", yOut, call.outputs[AddRmsNorm::kY]);
    call.optional_output("rstdOut", rstdOut, call.outputs[AddRmsNorm::kRstd]);
    call.optional_output("xOut", xOut, call.outputs[AddRmsNorm::kX]);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnRmsNorm, kRmsNorm)
NPU_QUANT_SECOND_PHASE(aclnnAddRmsNorm, kAddRmsNorm)
