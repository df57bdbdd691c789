// aclnnTransQuantParamV2, V3: npu_trans_quant_param.
#include "ops/trans_quant_param.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_trans_quant_param_v2.h"
#include "aclnnop/aclnn_trans_quant_param_v3.h"

namespace npu_quant::aclnn {
namespace {

constexpr Format kWords[] = {Format::int64, Format::uint64};
constexpr Function kTransQuantParamV2{.name = "aclnnTransQuantParamV2", .codes = kWords};
constexpr Function kTransQuantParamV3{.name = "aclnnTransQuantParamV3", .codes = kWords};

struct TransQuantParamCall : Call<TransQuantParam> {
  using Call::Call;

  void set(const aclTensor* scale, const aclTensor* offset, const aclTensor* out) {
    input("scale", scale, op.scale);
    optional_input("offset", offset, op.offset);
    TensorView& words = outputs[TransQuantParam::kY];
    output("out", out, words);
    check_codes(words);
    if (words.dtype == DType::uint64) op.words = words.dtype;
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnTransQuantParamV2GetWorkspaceSize(const aclTensor* scale, const aclTensor* offset,
                                                   const aclTensor* out, uint64_t* workspaceSize,
                                                   aclOpExecutor** executor) {
  return plan<TransQuantParamCall>(kTransQuantParamV2, workspaceSize, executor,
                                   [&](auto& call) { call.set(scale, offset, out); });
}

aclnnStatus aclnnTransQuantParamV3GetWorkspaceSize(const aclTensor* scale, const aclTensor* offset,
                                                   int64_t roundMode, const aclTensor* out,
                                                   uint64_t* workspaceSize,
                                                   aclOpExecutor** executor) {
  return plan<TransQuantParamCall>(kTransQuantParamV3, workspaceSize, executor, [&](auto& call) {
    call.set(scale, offset, out);
    call.op.round_mode = roundMode;
  });
}

NPU_QUANT_SECOND_PHASE(aclnnTransQuantParamV2, kTransQuantParamV2)
NPU_QUANT_SECOND_PHASE(aclnnTransQuantParamV3, kTransQuantParamV3)
