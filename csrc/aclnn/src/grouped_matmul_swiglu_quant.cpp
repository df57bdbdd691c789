// aclnnGroupedMatmulSwigluQuant, V2: npu_grouped_matmul_swiglu_quant, _v2.
#include "ops/grouped_matmul_swiglu_quant.h"

#include "aclnn/src/data_type.h"
#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant.h"
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant_v2.h"

namespace npu_quant::aclnn {
namespace {

constexpr Function kGroupedMatmulSwigluQuant{.name = "aclnnGroupedMatmulSwigluQuant"};
constexpr std::initializer_list<OtherName> kSecondNames = {{"quant_dtype", "the dtype of output"}};
constexpr Function kGroupedMatmulSwigluQuantV2{.name = "aclnnGroupedMatmulSwigluQuantV2",
                                               .other_names = kSecondNames};

struct SecondVersion : Call<GroupedMatmulSwigluQuantV2> {
  using Call::Call;

  // Of lists of one tensor each, whose first axis is that of the experts.
  void take(const char* name, const TensorList& list, TensorView& view, bool is_required) {
    const size_t length = list.elements.size();
    if (!list.is_live) return fail(Fault::missing, name, "is not a live list");
    if (is_required && list.handle == nullptr) return fail(Fault::missing, name, "is NULL");
    if (length > 1 || (is_required && length == 0))
      return fail(Fault::shape, name, {"has ", length, length == 1 ? " tensor" : " tensors"},
                  "expected one with all groups");
    is_required ? input_list(name, list, {&view}) : optional_input_list(name, list, {&view});
  }
  // Of an aclDataType; 0 is FLOAT, which is what there is.
  static DTypeRequest request_of(int64_t type) {
    if (type == ACL_FLOAT) return {};
    const char* const known = find_acl_name(type);
    return {.is_default = false, .text = known != nullptr ? known : std::to_string(type)};
  }
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnGroupedMatmulSwigluQuantGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* bias, const aclTensor* offset,
    const aclTensor* weightScale, const aclTensor* xScale, const aclTensor* groupList,
    aclTensor* output, aclTensor* outputScale, aclTensor* outputOffset, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  using Op = GroupedMatmulSwigluQuant;
  return plan<Call<Op>>(kGroupedMatmulSwigluQuant, workspaceSize, executor, [&](auto& call) {
    call.input("x", x, call.op.x);
    call.input("weight", weight, call.op.weight);
    call.optional_input("bias", bias, call.op.bias);
    call.optional_input("offset", offset, call.op.offset);
    call.input("weightScale", weightScale, call.op.weight_scale);
    call.input("xScale", xScale, call.op.x_scale);
    call.input("groupList", groupList, call.op.group_list);
    call.output("output", output, call.outputs[Op::kY]);
    call.output("outputScale", outputScale, call.outputs[Op::kScale]);
    call.optional_output("outputOffset", outputOffset, call.outputs[Op::kOffset]);
    if (outputOffset != nullptr)
      call.fail(Fault::attribute, "outputOffset", "is given", "expected NULL");
    // Words, of which the lower half is a float.
    if (call.op.weight_scale.dtype == DType::uint64) call.op.weight_scale.dtype = DType::int64;
  });
}

aclnnStatus aclnnGroupedMatmulSwigluQuantV2GetWorkspaceSize(
    const aclTensor* x, const aclTensorList* weight, const aclTensorList* weightScale,
    const aclTensorList* weightAssistMatrix, const aclTensor* bias, const aclTensor* xScale,
    const aclTensor* smoothScale, const aclTensor* groupList, int64_t dequantMode,
    int64_t dequantDtype, int64_t quantMode, int64_t groupListType, const aclIntArray* tuningConfig,
    aclTensor* output, aclTensor* outputScale, uint64_t* workspaceSize, aclOpExecutor** executor) {
  using Op = GroupedMatmulSwigluQuantV2;
  const Function& function = kGroupedMatmulSwigluQuantV2;
  return guarded(function.name, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
    const TensorList weights = tensors_in(weight), scales = tensors_in(weightScale),
                     assists = tensors_in(weightAssistMatrix);
    const bool has_tuning = integers_in(tuningConfig).has_value();
    return plan<SecondVersion>(function, workspaceSize, executor, [&](SecondVersion& call) {
      Op& op = call.op;
      call.input("x", x, op.x);
      call.take("weight", weights, op.weight, true);
      call.take("weightScale", scales, op.weight_scale, true);
      call.take("weightAssistMatrix", assists, op.weight_assist_matrix, false);
      call.optional_input("bias", bias, op.bias);
      call.input("xScale", xScale, op.x_scale);
      call.optional_input("smoothScale", smoothScale, op.smooth_scale);
      call.input("groupList", groupList, op.group_list);
      op.dequant_mode = dequantMode;
      op.dequant_dtype = SecondVersion::request_of(dequantDtype);
      op.quant_mode = quantMode;
      op.group_list_type = groupListType;
      if (!has_tuning) call.fail(Fault::missing, "tuningConfig", "is not a live array");
      call.output("output", output, call.outputs[Op::kY]);
      call.output("outputScale", outputScale, call.outputs[Op::kScale]);
      op.quant_dtype = Executor::request_of(call.outputs[Op::kY]);
      op.scale_array = DType::float8_e8m0fnu;
      if (op.weight_scale.dtype == DType::uint64) op.weight_scale.dtype = DType::int64;
    });
  });
}

NPU_QUANT_SECOND_PHASE(aclnnGroupedMatmulSwigluQuant, kGroupedMatmulSwigluQuant)
NPU_QUANT_SECOND_PHASE(aclnnGroupedMatmulSwigluQuantV2, kGroupedMatmulSwigluQuantV2)
