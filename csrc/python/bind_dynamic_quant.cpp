#include "ops/dynamic_quant.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

template <class Operator>
py::object dynamic_quant(py::handle result_type, py::handle input, py::handle smooth_scales,
                         py::handle group_index, py::handle dst_type, py::handle quant_mode,
                         py::handle dst_type_max, py::handle out, py::handle numerics) {
  Operator op;
  return run(op, {input, smooth_scales, group_index}, {out, numerics, result_type}, [&] {
    op.dst_type = to_dtype(op.name, "dst_type", dst_type);
    op.quant_mode = to_string(op.name, "quant_mode", quant_mode);
    op.dst_type_max = to_double(op.name, "dst_type_max", dst_type_max);
  });
}

}  // namespace

void bind_dynamic_quant(py::module_& module) {
  define<&dynamic_quant<DynamicQuant>>(module, "npu_dynamic_quant",
                                       "npu_dynamic_quant($module, result_type, input, "
                                       "smooth_scales, group_index, dst_type, quant_mode, "
                                       "dst_type_max, out, numerics, /)\n--\n\n");
  define<&dynamic_quant<DynamicQuantAsymmetric>>(
      module, "npu_dynamic_quant_asymmetric",
      "npu_dynamic_quant_asymmetric($module, result_type, input, smooth_scales, group_index, "
      "dst_type, quant_mode, dst_type_max, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
