#include "ops/add_rms_norm_quant.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_add_rms_norm_quant(py::handle result_type, py::handle x1, py::handle x2,
                                  py::handle gamma, py::handle scales1, py::handle zero_points1,
                                  py::handle beta, py::handle scales2, py::handle zero_points2,
                                  py::handle axis, py::handle epsilon, py::handle div_mode,
                                  py::handle dst_type, py::handle out, py::handle numerics) {
  AddRmsNormQuant op;
  return run(op, {x1, x2, gamma, scales1, zero_points1, beta, scales2, zero_points2},
             {out, numerics, result_type}, [&] {
               op.axis = to_int(op.name, "axis", axis);
               op.epsilon = to_double(op.name, "epsilon", epsilon);
               op.div_mode = to_bool(op.name, "div_mode", div_mode);
               op.dst_type = to_dtype(op.name, "dst_type", dst_type);
             });
}

}  // namespace

void bind_add_rms_norm_quant(py::module_& module) {
  define<&npu_add_rms_norm_quant>(
      module, "npu_add_rms_norm_quant",
      "npu_add_rms_norm_quant($module, result_type, x1, x2, gamma, scales1, zero_points1, beta, "
      "scales2, zero_points2, axis, epsilon, div_mode, dst_type, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
