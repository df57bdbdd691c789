// What every bind_<op>.cpp ends with: check, take or make the outputs, run, return them.
#pragma once

#include <utility>

#include "python/numpy_view.h"

namespace npu_quant::python {

// The .code of an op's ParamError.
template <class Operator>
inline constexpr Code kParamCode = Code::param_invalid;

// Checks in their order, the outputs taken or made, the work, and the outputs: an array, or an
// instance of `result_type` of several.
py::object run(Op& op, ArrayArguments& arrays, const PlainArguments& plain, py::handle out,
               py::handle result_type, Code param_code);

// What every function takes beside arrays and attributes.
struct Common {
  py::handle out, numerics, result_type = {};
};

// The same with the arrays in the order of op.inputs(), and `read_attributes`, which converts what
// the caller gave.
template <class Operator, size_t count, class Read>
py::object run(Operator& op, const py::handle (&values)[count], const Common& common,
               Read read_attributes) {
  ArrayArguments arrays(op.name, op.inputs(), values);
  const PlainArguments plain([&] {
    read_attributes();
    op.numerics = to_numerics(op.name, common.numerics);
  });
  return run(op, arrays, plain, common.out, common.result_type, kParamCode<Operator>);
}

template <class Function>
struct PositionalCall;

template <class... Handles>
struct PositionalCall<py::object (*)(Handles...)> {
  template <auto function>
  static PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
    if (count != sizeof...(Handles))
      return PyErr_Format(PyExc_TypeError, "expected %zu arguments, got %zd", sizeof...(Handles),
                          count);
    try {
      return apply<function>(arguments, std::index_sequence_for<Handles...>{});
    } catch (...) {
      set_python_error();
      return nullptr;
    }
  }

 private:
  template <auto function, size_t... i>
  static PyObject* apply(PyObject* const* arguments, std::index_sequence<i...>) {
    return function(py::handle(arguments[i])...).release().ptr();
  }
};

// A function, positional only, by CPython's vectorcall: pybind11's own dispatcher would cost a
// fifth of a small call. `signature` is "name($module, argument, ..., /)\n--\n\n", which inspect
// and stubtest read.
template <auto function>
py::object make_function(py::handle module, const char* name, const char* signature) {
  static PyMethodDef method{};
  constexpr auto call = &PositionalCall<decltype(function)>::template call<function>;
  method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL,
            signature};
  const py::object module_name = module.attr("__name__");
  PyObject* object = PyCFunction_NewEx(&method, module.ptr(), module_name.ptr());
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

// Defines module.name(...).
template <auto function>
void define(py::module_& module, const char* name, const char* signature) {
  module.attr(name) = make_function<function>(module, name, signature);
}

// Defines type.name(self, ...); the signature begins with $module, self.
template <auto function>
void define_method(py::module_& module, py::handle type, const char* name, const char* signature) {
  const py::object plain = make_function<function>(module, name, signature);
  PyObject* method = PyInstanceMethod_New(plain.ptr());
  if (method == nullptr) throw py::error_already_set();
  type.attr(name) = py::reinterpret_steal<py::object>(method);
}

}  // namespace npu_quant::python
