// aclnnAddRmsNormQuant, V2: npu_add_rms_norm_quant.
#include "ops/add_rms_norm_quant.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_add_rms_norm_quant_v2.h"
#include "ops/split/norm_rows.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kNormQuant{.name = "aclnnAddRmsNormQuant",
                              .codes = kCodesOfBytes,
                              .shape_code = ACLNN_ERR_INNER_TILING_ERROR};
constexpr Function kNormQuantV2{.name = "aclnnAddRmsNormQuantV2", .codes = kCodesOfBytes};

struct AddRmsNormQuantCall : Call<AddRmsNormQuant> {
  using Call::Call;

  void set_inputs(const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
                  const aclTensor* scales1, const aclTensor* scales2, const aclTensor* zero_points1,
                  const aclTensor* zero_points2) {
    input("x1", x1, op.x1);
    input("x2", x2, op.x2);
    input("gamma", gamma, op.gamma);
    input("scales1", scales1, op.scales1);
    optional_input("scales2Optional", scales2, op.scales2);
    optional_input("zeroPoints1Optional", zero_points1, op.zero_points1);
    optional_input("zeroPoints2Optional", zero_points2, op.zero_points2);
  }
  // The axis is that of gamma whatever a caller passes.
  void set_attributes(double epsilon, bool div_mode) {
    op.epsilon = epsilon;
    op.div_mode = div_mode;
  }
  void set_codes(const aclTensor* y1, const aclTensor* y2) {
    output("y1Out", y1, outputs[AddRmsNormQuant::kY1]);
    output("y2Out", y2, outputs[AddRmsNormQuant::kY2]);
    op.dst_type = codes_of(outputs[AddRmsNormQuant::kY1]);
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnAddRmsNormQuantGetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, const aclTensor* scales1,
    const aclTensor* scales2Optional, const aclTensor* zeroPoints1Optional,
    const aclTensor* zeroPoints2Optional, int64_t, double epsilon, bool divMode, aclTensor* y1Out,
    aclTensor* y2Out, aclTensor* xOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<AddRmsNormQuantCall>(kNormQuant, workspaceSize, executor, [&](auto& call) {
    call.set_inputs(x1, x2, gamma, scales1, scales2Optional, zeroPoints1Optional,
                    zeroPoints2Optional);
    call.set_attributes(epsilon, divMode);
    call.set_codes(y1Out, y2Out);
    call.output("xOut", xOut, call.outputs[AddRmsNormQuant::kX]);
  });
}

aclnnStatus aclnnAddRmsNormQuantV2GetWorkspaceSize(
    const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma, const aclTensor* scales1,
    const aclTensor* scales2Optional, const aclTensor* zeroPoints1Optional,
    const aclTensor* zeroPoints2Optional, const aclTensor* betaOptional, int64_t, double epsilon,
    bool divMode, aclTensor* y1Out, aclTensor* y2Out, aclTensor* xOut, aclTensor* rmsNormOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  constexpr bool kWithRmsNorm = true;
  const auto fill = [&](auto& call) {
    call.set_inputs(x1, x2, gamma, scales1, scales2Optional, zeroPoints1Optional,
                    zeroPoints2Optional);
    call.optional_input("betaOptional", betaOptional, call.op.beta);
    call.op.gamma = last_axis_of(call.op.gamma);  // it takes [1, N] for [N]
    call.op.beta = last_axis_of(call.op.beta);
    call.set_attributes(epsilon, divMode);
    call.set_codes(y1Out, y2Out);
    call.optional_output("xOut", xOut, call.outputs[AddRmsNormQuant::kX]);
    call.optional_output("rmsNormOut", rmsNormOut, call.outputs[AddRmsNormQuant::kRmsNorm]);
  };
  return plan<AddRmsNormQuantCall>(kNormQuantV2, workspaceSize, executor, fill, kWithRmsNorm);
}

NPU_QUANT_SECOND_PHASE(aclnnAddRmsNormQuant, kNormQuant)
NPU_QUANT_SECOND_PHASE(aclnnAddRmsNormQuantV2, kNormQuantV2)
