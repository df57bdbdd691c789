#include "python/errors.h"

#include <new>

namespace npu_quant::python {
namespace {

py::object decoded(const std::string& text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void raise(const char* name, const Status& status, Code code) {
  Refusal refusal = status.refusal();
  const std::string argument = written(refusal.subject, plain_word);
  refusal.subject = Text();
  const py::object type = py::module_::import("npu_quant.errors").attr(name);
  const py::object error = type(
      decoded(sentence_of(Status(refusal))), static_cast<int>(code), py::arg("caller") = refusal.op,
      py::arg("argument") = decoded(argument), py::arg("remedy") = decoded(refusal.remedy));
  PyErr_SetObject(type.ptr(), error.ptr());
}

}  // namespace

void raise_unless_ok(const Status& status, Code param_code) {
  if (status.ok()) return;
  switch (status.fault()) {
    case Fault::memory: PyErr_SetString(PyExc_MemoryError, message_of(status).c_str()); break;
    case Fault::missing: raise("DTypeError", status, Code::param_nullptr); break;
    case Fault::dtype: raise("DTypeError", status, Code::param_invalid); break;
    default: raise("ParamError", status, param_code);
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
