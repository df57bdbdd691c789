#include "python/errors.h"

#include <new>

namespace npu_quant::python {

void raise_unless_ok(const Status& status) {
  if (status.ok()) return;
  if (status.fault == Fault::memory) {
    PyErr_SetString(PyExc_MemoryError, status.message.c_str());
  } else {
    const char* name = status.fault == Fault::dtype ? "DTypeError" : "ParamError";
    const py::object type = py::module_::import("npu_quant.errors").attr(name);
    const auto message = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        status.message.data(), static_cast<Py_ssize_t>(status.message.size()), "replace"));
    const py::object error = type(message, static_cast<int>(status.code));
    PyErr_SetObject(type.ptr(), error.ptr());
  }
  throw py::error_already_set();
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "npu_quant: out of memory.");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace npu_quant::python
