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
  ArrayArguments arrays(op.kName, {{"x1", x1, op.x1, true},
                                   {"x2", x2, op.x2, true},
                                   {"gamma", gamma, op.gamma, true},
                                   {"scales1", scales1, op.scales1, true},
                                   {"zero_points1", zero_points1, op.zero_points1, false},
                                   {"beta", beta, op.beta, false},
                                   {"scales2", scales2, op.scales2, false},
                                   {"zero_points2", zero_points2, op.zero_points2, false}});
  const PlainArguments plain([&] {
    op.axis = to_int(op.kName, "axis", axis);
    op.epsilon = to_double(op.kName, "epsilon", epsilon);
    op.div_mode = to_bool(op.kName, "div_mode", div_mode);
    op.dst_type = to_dtype(op.kName, "dst_type", dst_type);
    op.numerics = to_numerics(op.kName, numerics);
  });
  return run(op, arrays, plain, out, result_type);
}

}  // namespace

void bind_add_rms_norm_quant(py::module_& module) {
  define<&npu_add_rms_norm_quant>(
      module, "npu_add_rms_norm_quant",
      "npu_add_rms_norm_quant($module, result_type, x1, x2, gamma, scales1, zero_points1, beta, "
      "scales2, zero_points2, axis, epsilon, div_mode, dst_type, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
