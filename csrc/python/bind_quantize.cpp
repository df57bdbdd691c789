#include "ops/quantize.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_quantize(py::handle self, py::handle scales, py::handle zero_points,
                        py::handle dtype, py::handle axis, py::handle div_mode, py::handle out,
                        py::handle numerics) {
  Quantize op;
  return run(op, {self, scales, zero_points}, {out, numerics}, [&] {
    op.dtype = to_required_dtype(op.name, "dtype", dtype);
    op.axis = to_int(op.name, "axis", axis);
    op.div_mode = to_bool(op.name, "div_mode", div_mode);
  });
}

}  // namespace

void bind_quantize(py::module_& module) {
  define<&npu_quantize>(module, "npu_quantize",
                        "npu_quantize($module, self, scales, zero_points, dtype, axis, div_mode, "
                        "out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
