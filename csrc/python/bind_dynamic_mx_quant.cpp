#include "ops/dynamic_mx_quant.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_dynamic_mx_quant(py::handle result_type, py::handle input, py::handle axis,
                                py::handle round_mode, py::handle dst_type, py::handle block_size,
                                py::handle scale_alg, py::handle dst_type_max,
                                py::handle max_low_bound, py::handle out, py::handle numerics) {
  DynamicMxQuant op;
  return run(op, {input}, {out, numerics, result_type}, [&] {
    op.axis = to_int(op.name, "axis", axis);
    op.round_mode = to_string(op.name, "round_mode", round_mode);
    op.dst_type = to_dtype(op.name, "dst_type", dst_type);
    op.block_size = to_int(op.name, "block_size", block_size);
    if (!scale_alg.is_none()) op.scale_alg = to_int(op.name, "scale_alg", scale_alg);
    if (!dst_type_max.is_none()) op.dst_type_max = to_double(op.name, "dst_type_max", dst_type_max);
    op.max_low_bound = to_double(op.name, "max_low_bound", max_low_bound);
  });
}

}  // namespace

void bind_dynamic_mx_quant(py::module_& module) {
  define<&npu_dynamic_mx_quant>(
      module, "npu_dynamic_mx_quant",
      "npu_dynamic_mx_quant($module, result_type, input, axis, round_mode, dst_type, block_size, "
      "scale_alg, dst_type_max, max_low_bound, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
