// The table of contents of npu_quant._core: one line per op.
#include "python/numpy_view.h"

namespace npu_quant::python {

void bind_runtime(py::module_& module);
void bind_dynamic_quant(py::module_& module);
void bind_dynamic_block_quant(py::module_& module);
void bind_add_rms_norm_quant(py::module_& module);
void bind_fake_quantize(py::module_& module);
void bind_quantize(py::module_& module);
void bind_anti_quant(py::module_& module);
void bind_quantize_val(py::module_& module);
void bind_quantizer(py::module_& module);
void bind_compare(py::module_& module);

}  // namespace npu_quant::python

PYBIND11_MODULE(_core, module) {
  using namespace npu_quant::python;
  initialise(module);
  bind_runtime(module);
  bind_dynamic_quant(module);
  bind_dynamic_block_quant(module);
  bind_add_rms_norm_quant(module);
  bind_fake_quantize(module);
  bind_quantize(module);
  bind_anti_quant(module);
  bind_quantize_val(module);
  bind_quantizer(module);
  bind_compare(module);
}
