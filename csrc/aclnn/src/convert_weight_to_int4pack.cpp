// aclnnConvertWeightToINT4Pack: npu_convert_weight_to_int4pack.
#include "ops/convert_weight_to_int4pack.h"

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_convert_weight_to_int4_pack.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kConvertWeightToInt4pack{.name = "aclnnConvertWeightToINT4Pack"};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnConvertWeightToINT4PackGetWorkspaceSize(const aclTensor* weight,
                                                         aclTensor* weightInt4Pack,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor) {
  return plan<Call<ConvertWeightToInt4pack>>(
      kConvertWeightToInt4pack, workspaceSize, executor, [&](auto& call) {
        call.input("weight", weight, call.op.weight);
        TensorView& y = call.outputs[ConvertWeightToInt4pack::kY];
        call.output("weightInt4Pack", weightInt4Pack, y);
        call.op.counts_codes = y.is_packed();
      });
}

NPU_QUANT_SECOND_PHASE(aclnnConvertWeightToINT4Pack, kConvertWeightToInt4pack)
