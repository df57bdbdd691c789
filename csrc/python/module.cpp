// The table of contents of npu_quant._core: one line per op.
#include "python/numpy_view.h"

namespace npu_quant::python {

void bind_runtime(py::module_& module);
void bind_dynamic_quant(py::module_& module);
void bind_dynamic_block_quant(py::module_& module);
void bind_grouped_dynamic_block_quant(py::module_& module);
void bind_dynamic_mx_quant(py::module_& module);
void bind_dynamic_block_mx_quant(py::module_& module);
void bind_grouped_dynamic_mx_quant(py::module_& module);
void bind_add_rms_norm_quant(py::module_& module);
void bind_fake_quantize(py::module_& module);
void bind_quantize(py::module_& module);
void bind_anti_quant(py::module_& module);
void bind_anti_mx_quant(py::module_& module);
void bind_dtype_cast(py::module_& module);
void bind_trans_quant_param(py::module_& module);
void bind_convert_weight_to_int4pack(py::module_& module);
void bind_quantize_val(py::module_& module);
void bind_quantizer(py::module_& module);
void bind_compare(py::module_& module);
void bind_checkpoint(py::module_& module);
void bind_torch_tensor(py::module_& module);

}  // namespace npu_quant::python

// What CPython calls is PyInit__core, below. The GIL is needed: what this module remembers is not
// guarded otherwise, and a free-threaded Python takes it back when it imports this.
PYBIND11_MODULE(_core_of_main_interpreter, module) {
  using namespace npu_quant::python;
  initialise(module);
  bind_runtime(module);
  bind_dynamic_quant(module);
  bind_dynamic_block_quant(module);
  bind_grouped_dynamic_block_quant(module);
  bind_dynamic_mx_quant(module);
  bind_dynamic_block_mx_quant(module);
  bind_grouped_dynamic_mx_quant(module);
  bind_add_rms_norm_quant(module);
  bind_fake_quantize(module);
  bind_quantize(module);
  bind_anti_quant(module);
  bind_anti_mx_quant(module);
  bind_dtype_cast(module);
  bind_trans_quant_param(module);
  bind_convert_weight_to_int4pack(module);
  bind_quantize_val(module);
  bind_quantizer(module);
  bind_compare(module);
  bind_checkpoint(module);
  bind_torch_tensor(module);
}

// Threads, memory and NumPy's types are one for the process, so that they can be the main
// interpreter's only: another is refused before anything of it gets here, pybind11's own part too.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main())
    return PyInit__core_of_main_interpreter();
  PyErr_SetString(
      PyExc_ImportError,
      "npu_quant: this is a subinterpreter, expected the main interpreter. Use threads, "
      "or processes (multiprocessing).");
  return nullptr;
}
