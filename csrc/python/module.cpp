// The table of contents of npu_quant._core: one line per op.
#include "python/numpy_view.h"

namespace npu_quant::python {

void bind_runtime(py::module_& module);
void bind_dynamic_quant(py::module_& module);
void bind_dynamic_block_quant(py::module_& module);

}  // namespace npu_quant::python

PYBIND11_MODULE(_core, module) {
  using namespace npu_quant::python;
  initialise(module);
  bind_runtime(module);
  bind_dynamic_quant(module);
  bind_dynamic_block_quant(module);
}
