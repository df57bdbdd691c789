#include "ops/anti_mx_quant.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_anti_mx_quant(py::handle x, py::handle mxscale, py::handle axis, py::handle dst_type,
                             py::handle src_type, py::handle out, py::handle numerics) {
  AntiMxQuant op;
  return run(op, {x, mxscale}, {out, numerics}, [&] {
    if (!axis.is_none()) op.axis = to_int(op.name, "axis", axis);
    op.dst_type = to_dtype(op.name, "dst_type", dst_type);
    op.src_type = to_dtype(op.name, "src_type", src_type);
  });
}

}  // namespace

void bind_anti_mx_quant(py::module_& module) {
  define<&npu_anti_mx_quant>(
      module, "npu_anti_mx_quant",
      "npu_anti_mx_quant($module, x, mxscale, axis, dst_type, src_type, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
