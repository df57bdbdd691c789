// From the arguments of a call to its result, and how a function gets into the module.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "python/numpy_view.h"

namespace npu_quant::python {

using Arguments = std::span<PyObject* const>;
using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);

// NotImplemented in the place of `out` asks for the checks that need no values, and nothing is
// computed: fakes judge by them. It is nobody's output, and the same object in all interpreters.
inline bool asks_for_checks(py::handle out) { return out.ptr() == Py_NotImplemented; }

// What an operator's function does with its arguments: the arrays in the order of op.inputs(), the
// attributes in that of op.attributes(), `out` and `numerics`; before them the NamedTuple class of
// the outputs, where there are several. Checks in their order, the outputs taken or made, the work,
// and the outputs: an array, or an instance of that class.
py::object run(Op& op, Arguments arguments, Code param_code = Code::param_invalid);

// The same of arrays and attributes that were read by other means.
py::object run(Op& op, ArrayArguments& arrays, const PlainArguments& plain, py::handle out,
               py::handle result_type = {}, Code param_code = Code::param_invalid);

// A function, positional only, by CPython's vectorcall: pybind11's own dispatcher would cost a
// fifth of a small call.
struct Function {
  PyMethodDef method{};
  std::string signature;  // the method's: "name($module, argument, ..., /)\n--\n\n", which inspect
                          // and stubtest read
  Py_ssize_t count = 0;   // of arguments

  py::object make(py::handle module, const char* name, const std::vector<const char*>& arguments,
                  FastCall call);
};

template <auto function>
struct Bound {
  static inline Function bound;

  static PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
    if (count != bound.count)
      return PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", bound.count, count);
    try {
      return function(Arguments(arguments, static_cast<size_t>(count))).release().ptr();
    } catch (...) {
      set_python_error();
      return nullptr;
    }
  }
};

// Defines module.name(...).
template <auto function>
void define(py::module_& module, const char* name, const std::vector<const char*>& arguments) {
  using Its = Bound<function>;
  module.attr(name) = Its::bound.make(module, name, arguments, &Its::call);
}

// Defines type.name(self, ...).
template <auto function>
void define_method(py::module_& module, py::handle type, const char* name,
                   const std::vector<const char*>& arguments) {
  using Its = Bound<function>;
  const py::object plain = Its::bound.make(module, name, arguments, &Its::call);
  PyObject* method = PyInstanceMethod_New(plain.ptr());
  if (method == nullptr) throw py::error_already_set();
  type.attr(name) = py::reinterpret_steal<py::object>(method);
}

}  // namespace npu_quant::python
