#include "ops/anti_quant.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_anti_quant(py::handle x, py::handle scale, py::handle offset, py::handle dst_dtype,
                          py::handle src_dtype, py::handle out, py::handle numerics) {
  AntiQuant op;
  return run(op, {x, scale, offset}, {out, numerics}, [&] {
    op.dst_dtype = to_dtype(op.name, "dst_dtype", dst_dtype);
    op.src_dtype = to_dtype(op.name, "src_dtype", src_dtype);
  });
}

}  // namespace

void bind_anti_quant(py::module_& module) {
  define<&npu_anti_quant>(module, "npu_anti_quant",
                          "npu_anti_quant($module, x, scale, offset, dst_dtype, src_dtype, out, "
                          "numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
