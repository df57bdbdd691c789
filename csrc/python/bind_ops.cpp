// The operators: a line for each says what its face is made of.
#include "ops/add_rms_norm.h"
#include "ops/add_rms_norm_dynamic_quant.h"
#include "ops/add_rms_norm_quant.h"
#include "ops/anti_mx_quant.h"
#include "ops/anti_quant.h"
#include "ops/checkpoint.h"
#include "ops/compare.h"
#include "ops/convert_weight_to_int4pack.h"
#include "ops/dequant_bias.h"
#include "ops/dequant_swiglu_quant.h"
#include "ops/dtype_cast.h"
#include "ops/dual_level_quant_matmul.h"
#include "ops/dynamic_block_mx_quant.h"
#include "ops/dynamic_block_quant.h"
#include "ops/dynamic_dual_level_mx_quant.h"
#include "ops/dynamic_mx_quant.h"
#include "ops/dynamic_quant.h"
#include "ops/fake_quantize.h"
#include "ops/group_quant.h"
#include "ops/grouped_dynamic_block_quant.h"
#include "ops/grouped_dynamic_mx_quant.h"
#include "ops/grouped_matmul_swiglu_quant.h"
#include "ops/moe_finalize_routing.h"
#include "ops/moe_init_routing_v2.h"
#include "ops/moe_token.h"
#include "ops/quant_matmul.h"
#include "ops/quant_scatter.h"
#include "ops/quantize.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "ops/swiglu_group_quant.h"
#include "ops/swiglu_quant.h"
#include "ops/trans_quant_param.h"
#include "ops/weight_quant_batchmatmul.h"
#include "python/bind.h"
#include "python/released.h"
#include "python/torch_tensor.h"

namespace npu_quant::python {
namespace {

// Of several outputs the NamedTuple class is the first argument.
enum class Gives { one, several };

template <class Operator>
std::vector<const char*> arguments_of(Operator& op) {
  std::vector<const char*> names;
  for (const Input& input : op.inputs()) names.push_back(input.name);
  for (const Attribute& attribute : op.attributes()) names.push_back(attribute.name);
  return names;
}

// The function of an operator that `make` makes.
template <auto make, Code param_code = Code::param_invalid>
py::object call_op(Arguments arguments) {
  auto op = make();
  return run(op, arguments, param_code);
}

template <auto make, auto function = &call_op<make>>
void define_op(py::module_& module, Gives gives) {
  auto op = make();
  std::vector<const char*> names = arguments_of(op);
  if (gives == Gives::several) names.insert(names.begin(), "result_type");
  names.insert(names.end(), {"out", "numerics"});
  define<function>(module, op.name, names);
}

template <class Operator>
Operator made() {
  return Operator();
}

template <QuantScatter::Into into>
QuantScatter quant_scatter() {
  return QuantScatter(into);
}

// The array in a list of one; None stays.
py::object only_array(const char* op, const char* argument, py::handle list) {
  if (list.is_none()) return py::none();
  const py::tuple arrays = owned_list(op, argument, list, "a list of one array");
  if (arrays.size() != 1)
    raise_unless_ok(fault(op, Fault::shape, {Argument(argument)},
                          {"has ", static_cast<int64_t>(arrays.size()), " arrays"},
                          "expected one with all groups"));
  return arrays[0];
}

// The function of an operator that takes some of its arguments as lists of one array each.
template <auto make, size_t... lists>
py::object call_with_lists(Arguments arguments) {
  auto op = make();
  std::vector<PyObject*> all(arguments.begin(), arguments.end());
  // Behind the class of the results. The lists are the caller's to change meanwhile.
  const py::object arrays[] = {
      only_array(op.name, op.inputs()[static_cast<int>(lists) - 1].name, all[lists])...};
  const py::object* next = arrays;
  ((all[lists] = (next++)->ptr()), ...);
  return run(op, all, Code::param_invalid);
}

using Form = FakeQuantize::Form;

template <Form form>
FakeQuantize per_tensor() {
  return {"fake_quantize_per_tensor_affine", form, false};
}

// Of two numbers or two arrays, as torch overloads it.
py::object fake_quantize_per_tensor_affine(Arguments arguments) {
  enum { kSelf, kScale, kZeroPoint, kQuantMin, kQuantMax, kOut };
  const py::handle scale = arguments[kScale], zero_point = arguments[kZeroPoint];
  const bool is_first = is_array(scale), is_second = is_array(zero_point);
  if (is_first && is_second) return call_op<&per_tensor<Form::arrays>>(arguments);
  if (is_first == is_second || is_tensor(is_first ? scale : zero_point))
    return call_op<&per_tensor<Form::numbers>>(arguments);
  FakeQuantize op = per_tensor<Form::numbers>();
  ArrayArguments arrays(op.name, op.inputs(), &arguments[kSelf]);
  const PlainArguments plain([&] {  // a fault, but faults of self come first
    throw py::type_error(std::string(op.name) + ": " + (is_first ? "scale" : "zero_point") +
                         " is an array and " + (is_first ? "zero_point" : "scale") +
                         " is not, expected two numbers or two arrays.");
  });
  return run(op, arrays, plain, arguments[kOut]);
}

// Adds to arrays that the caller gives: there are no outputs.
template <class Sums>
py::object add_up(Arguments arguments) {
  Sums op;
  PyObject* const* next = arguments.data();
  ArrayArguments arrays(op.kName, op.inputs(), next);
  next += op.inputs().size();
  for (const Attribute& attribute : op.attributes()) read(op.kName, attribute, *next++);
  arrays.fill_views();
  raise_unless_ok(op.check());
  raise_unless_ok(run_released(op.bytes(), [&] { return op.run(); }));
  return py::none();
}

template <class Sums>
void define_sums(py::module_& module) {
  Sums op;
  define<&add_up<Sums>>(module, op.kName, arguments_of(op));
}

void bind_fake_quantize(py::module_& module) {
  define_op<&per_tensor<Form::numbers>, &fake_quantize_per_tensor_affine>(module, Gives::one);
  define_op<[] {
    return FakeQuantize("fake_quantize_per_tensor_affine_cachemask", Form::numbers, true);
  }>(module, Gives::several);
  define_op<[] {
    FakeQuantize op("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", Form::arrays,
                    true);
    op.has_switch = true;
    return op;
  }>(module, Gives::several);
  define_op<[] {
    return FakeQuantizeBackward("fake_quantize_per_tensor_affine_cachemask_backward");
  }>(module, Gives::one);
  define_op<[] {
    return FakeQuantize("fake_quantize_per_channel_affine", Form::per_channel, false);
  }>(module, Gives::one);
  define_op<[] {
    return FakeQuantize("fake_quantize_per_channel_affine_cachemask", Form::per_channel, true);
  }>(module, Gives::several);
  define_op<[] {
    return FakeQuantizeBackward("fake_quantize_per_channel_affine_cachemask_backward");
  }>(module, Gives::one);
}

// Of matrices, and of the rows that experts multiply.
void bind_products(py::module_& module) {
  define_op<&made<GroupedMatmulSwigluQuant>>(module, Gives::several);
  constexpr auto by_experts = &made<GroupedMatmulSwigluQuantV2>;
  define_op<by_experts, &call_with_lists<by_experts, 2, 3, 7>>(module, Gives::several);
  define_op<&made<DualLevelQuantMatmul>>(module, Gives::one);
  define_op<&made<QuantMatmul>>(module, Gives::one);
  define_op<&made<WeightQuantBatchmatmul>>(module, Gives::one);
  define_op<&made<MoeInitRoutingV2>>(module, Gives::several);
  define_op<&made<MoeTokenPermute>>(module, Gives::several);
  define_op<&made<MoeTokenUnpermute>>(module, Gives::one);
  define_op<&made<MoeFinalizeRouting>>(module, Gives::one);
}

}  // namespace

void bind_ops(py::module_& module) {
  constexpr auto block_quant = &made<DynamicBlockQuant>;
  define_op<&made<DynamicQuant>>(module, Gives::several);
  define_op<&made<DynamicQuantAsymmetric>>(module, Gives::several);
  define_op<block_quant, &call_op<block_quant, Code::tiling_error>>(module, Gives::several);
  define_op<&made<GroupedDynamicBlockQuant>>(module, Gives::several);
  define_op<&made<DynamicMxQuant>>(module, Gives::several);
  define_op<&made<DynamicMxQuantWithDualAxis>>(module, Gives::several);
  define_op<&made<DynamicBlockMxQuant>>(module, Gives::several);
  define_op<&made<DynamicDualLevelMxQuant>>(module, Gives::several);
  define_op<&made<GroupedDynamicMxQuant>>(module, Gives::several);
  define_op<[] { return AddRmsNorm(false); }>(module, Gives::several);
  define_op<&made<AddRmsNorm>>(module, Gives::several);
  define_op<&made<AddRmsNormQuant>>(module, Gives::several);
  define_op<&made<RmsNormQuant>>(module, Gives::one);
  define_op<&made<RmsNormQuantV2>>(module, Gives::several);
  define_op<&made<RmsNormDynamicQuant>>(module, Gives::several);
  define_op<&made<AddRmsNormDynamicQuant>>(module, Gives::several);
  define_op<&made<Quantize>>(module, Gives::one);
  define_op<&made<GroupQuant>>(module, Gives::one);
  define_op<&quant_scatter<QuantScatter::Into::copy>>(module, Gives::one);
  define_op<&quant_scatter<QuantScatter::Into::self>>(module, Gives::one);
  define_op<&made<AntiQuant>>(module, Gives::one);
  define_op<&made<AntiMxQuant>>(module, Gives::one);
  define_op<&made<DequantBias>>(module, Gives::one);
  define_op<&made<DtypeCast>>(module, Gives::one);
  define_op<&made<TransQuantParam>>(module, Gives::one);
  define_op<&made<ConvertWeightToInt4pack>>(module, Gives::one);
  define_op<&made<Swiglu>>(module, Gives::one);
  define_op<&made<SwigluGroupQuant>>(module, Gives::several);
  define_op<&made<SwigluQuant>>(module, Gives::several);
  define_op<&made<DequantSwigluQuant>>(module, Gives::several);
  bind_products(module);
  bind_fake_quantize(module);
  define_sums<Compare>(module);
  define_sums<WeightError>(module);
}

}  // namespace npu_quant::python
