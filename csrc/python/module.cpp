// The table of contents of npu_quant._core.
#include "python/numpy_view.h"

namespace npu_quant::python {

void bind_runtime(py::module_& module);
void bind_ops(py::module_& module);
void bind_grouped_matmul(py::module_& module);
void bind_quantize_val(py::module_& module);
void bind_quantizer(py::module_& module);
void bind_torch_tensor(py::module_& module);

}  // namespace npu_quant::python

// What CPython calls is PyInit__core, below. The GIL is needed: what this module remembers is not
// guarded otherwise, and a free-threaded Python takes it back when it imports this.
PYBIND11_MODULE(_core_of_main_interpreter, module) {
  using namespace npu_quant::python;
  initialise(module);
  bind_runtime(module);
  bind_ops(module);
  bind_grouped_matmul(module);
  bind_quantize_val(module);
  bind_quantizer(module);
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
