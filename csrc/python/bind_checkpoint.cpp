#include "ops/checkpoint.h"
#include "python/bind.h"
#include "python/released.h"

namespace npu_quant::python {
namespace {

py::object weight_error(py::handle w, py::handle codes, py::handle scale, py::handle sums) {
  WeightError op;
  ArrayArguments arrays(op.kName, op.inputs(), {w, codes, scale, sums});
  arrays.fill_views();
  raise_unless_ok(op.check());
  raise_unless_ok(run_released(op.bytes(), [&] { return op.run(); }));
  return py::none();
}

}  // namespace

void bind_checkpoint(py::module_& module) {
  define<&weight_error>(module, "weight_error",
                        "weight_error($module, w, codes, scale, sums, /)\n--\n\n");
}

}  // namespace npu_quant::python
