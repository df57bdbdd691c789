#include "ops/dynamic_mx_quant.h"
#include "python/bind.h"
#include "python/mx_attributes.h"

namespace npu_quant::python {
namespace {

py::object npu_dynamic_mx_quant(py::handle result_type, py::handle input, py::handle axis,
                                py::handle round_mode, py::handle dst_type, py::handle block_size,
                                py::handle scale_alg, py::handle dst_type_max,
                                py::handle max_low_bound, py::handle out, py::handle numerics) {
  DynamicMxQuant op;
  return run(op, {input}, {out, numerics, result_type}, [&] {
    op.axis = to_int(op.name, "axis", axis);
    read_mx_attributes(op, round_mode, dst_type, scale_alg, dst_type_max);
    op.block_size = to_int(op.name, "block_size", block_size);
    op.max_low_bound = to_double(op.name, "max_low_bound", max_low_bound);
  });
}

py::object npu_dynamic_mx_quant_with_dual_axis(py::handle result_type, py::handle input,
                                               py::handle round_mode, py::handle dst_type,
                                               py::handle scale_alg, py::handle dst_type_max,
                                               py::handle out, py::handle numerics) {
  DynamicMxQuantWithDualAxis op;
  return run(op, {input}, {out, numerics, result_type},
             [&] { read_mx_attributes(op, round_mode, dst_type, scale_alg, dst_type_max); });
}

}  // namespace

void bind_dynamic_mx_quant(py::module_& module) {
  define<&npu_dynamic_mx_quant>(
      module, "npu_dynamic_mx_quant",
      "npu_dynamic_mx_quant($module, result_type, input, axis, round_mode, dst_type, block_size, "
      "scale_alg, dst_type_max, max_low_bound, out, numerics, /)\n--\n\n");
  define<&npu_dynamic_mx_quant_with_dual_axis>(
      module, "npu_dynamic_mx_quant_with_dual_axis",
      "npu_dynamic_mx_quant_with_dual_axis($module, result_type, input, round_mode, dst_type, "
      "scale_alg, dst_type_max, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
