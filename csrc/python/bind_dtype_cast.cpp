#include "ops/dtype_cast.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_dtype_cast(py::handle self, py::handle dtype, py::handle input_dtype, py::handle out,
                          py::handle numerics) {
  DtypeCast op;
  return run(op, {self}, {out, numerics}, [&] {
    op.dtype = to_required_dtype(op.name, "dtype", dtype);
    op.input_dtype = to_dtype(op.name, "input_dtype", input_dtype);
  });
}

}  // namespace

void bind_dtype_cast(py::module_& module) {
  define<&npu_dtype_cast>(
      module, "npu_dtype_cast",
      "npu_dtype_cast($module, self, dtype, input_dtype, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
