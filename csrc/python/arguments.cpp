#include "python/arguments.h"

#include <cstdlib>

#include "python/torch_tensor.h"

namespace npu_quant::python {
namespace {

// For the life of the process: there may be no interpreter left when it ends.
py::handle numerics_default;
py::handle known_formats;  // a dict: what a caller named a dtype by, and its code

// What a value looks like, or what it is, where showing it fails.
std::string text_of(py::handle value) {
  PyObject* text = PyObject_Repr(value.ptr());
  PyErr_Clear();
  if (text == nullptr) return with_article(type_name(value));
  const auto owner = py::reinterpret_steal<py::object>(text);
  const char* utf8 = PyUnicode_AsUTF8(text);
  PyErr_Clear();
  return utf8 != nullptr ? utf8 : with_article(type_name(value));
}

[[noreturn]] void raise_wrong_kind(const char* op, const char* argument, const char* expected,
                                   py::handle value) {
  const std::string came = value.is_none() ? "None" : with_article(type_name(value));
  throw py::type_error(std::string(op) + ": " + argument + " is " + came + ", expected " +
                       expected + ".");
}

// Arrays are no numbers, though NumPy converts those of one element; of tensors some are.
bool is_array_of_numbers(py::handle value) {
  return is_array(value) && !(is_tensor(value) && is_scalar(value));
}

// Ints, strings and classes: what hashes by itself and runs no other code.
bool is_plain_name(py::handle value) {
  return PyLong_CheckExact(value.ptr()) || PyUnicode_CheckExact(value.ptr()) ||
         PyType_CheckExact(value.ptr());
}

// Looking a dtype up in Python costs more than a small call.
bool recall_format(py::handle value, DTypeRequest& request) {
  if (!is_plain_name(value)) return false;
  PyObject* const code = PyDict_GetItemWithError(known_formats.ptr(), value.ptr());  // borrowed
  if (code == nullptr) return PyErr_Clear(), false;
  request.format = static_cast<Format>(PyLong_AsLong(code));
  return true;
}

void remember_format(py::handle value, Format format) {
  if (!is_plain_name(value)) return;
  const py::int_ code(static_cast<int>(format));
  if (PyDict_SetItem(known_formats.ptr(), value.ptr(), code.ptr()) < 0)
    throw py::error_already_set();
}

}  // namespace

void initialise_arguments(py::module_& module) {
  const char* from_environment = std::getenv("NPU_QUANT_NUMERICS");
  const py::str process_default(from_environment != nullptr ? from_environment
                                                            : name_of(Profile::reference));
  numerics_default = PyContextVar_New("npu_quant.numerics", process_default.ptr());
  module.attr("numerics_default") = numerics_default;
  known_formats = py::dict().release();
}

// As C knows it: asking Python would run a class's own code.
std::string type_name(py::handle value) {
  const auto* type = Py_TYPE(value.ptr());
  const std::string name = type->tp_name;
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || name.find('.') != std::string::npos)
    return name;
  PyObject* module = PyDict_GetItemString(type->tp_dict, "__module__");  // borrowed
  const char* text =
      module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  PyErr_Clear();
  return text != nullptr ? std::string(text) + "." + name : name;
}

py::tuple owned_list(const char* op, const char* argument, py::handle value, const char* expected) {
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr()))
    raise_wrong_kind(op, argument, expected, value);
  // Not by iterating, which a subclass may do as it likes: what lies in it is what counts.
  PyObject* const own = PyList_Check(value.ptr())
                            ? PyList_AsTuple(value.ptr())
                            : PyTuple_GetSlice(value.ptr(), 0, PyTuple_GET_SIZE(value.ptr()));
  if (own == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::tuple>(own);
}

double to_double(const char* op, const char* argument, py::handle value) {
  if (PyFloat_CheckExact(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  const bool is_complex =
      PyComplex_Check(value.ptr()) || type_name(value).rfind("numpy.complex", 0) == 0;
  if (is_complex || is_array_of_numbers(value)) raise_wrong_kind(op, argument, "a number", value);
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    raise_unless_ok(fault(op, Fault::attribute, {Argument(argument)}, "is too large for a float"));
  }
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
  PyErr_Clear();
  raise_wrong_kind(op, argument, "a number", value);
}

int64_t to_int(const char* op, const char* argument, py::handle value) {
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return number;
  }
  if (PyIndex_Check(value.ptr()) == 0 || is_array_of_numbers(value))
    raise_wrong_kind(op, argument, "an int", value);
  const Py_ssize_t number = PyNumber_AsSsize_t(value.ptr(), nullptr);  // clips
  if (PyErr_Occurred() == nullptr) return number;
  if (!is_tensor(value) || !PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
  PyErr_Clear();  // a tensor of other numbers
  raise_wrong_kind(op, argument, "an int", value);
}

std::string_view to_string(const char* op, const char* argument, py::handle value) {
  if (!PyUnicode_Check(value.ptr())) raise_wrong_kind(op, argument, "a str", value);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text != nullptr) return {text, static_cast<size_t>(size)};
  PyErr_Clear();
  return "(not to be written in UTF-8)";
}

void to_dtype(const char* op, const char* argument, py::handle value, DTypeRequest& request) {
  const char* const expected = "an int code, a dtype or a dtype's name";
  if (value.is_none()) raise_wrong_kind(op, argument, expected, value);
  request.is_default = false;
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    request.number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);  // else -1
  }
  if (recall_format(value, request)) return;
  const auto dtypes = py::module_::import("npu_quant.dtypes");
  py::object found;
  try {
    found = dtypes.attr("resolve")(value);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    raise_wrong_kind(op, argument, expected, value);
  }
  if (found.is_none()) {
    request.text = shortened(text_of(value));
    for (const py::handle code : dtypes.attr("near")(value))
      request.near.push_back(static_cast<Format>(code.cast<int>()));
  } else {
    request.format = static_cast<Format>(found.attr("acl_code").cast<int>());
    remember_format(value, request.format);
  }
}

ScalarType to_scalar_type(const char* op, py::handle value) {
  DTypeRequest request;
  to_dtype(op, "scalar_type", value, request);
  ScalarType type = kQInt8;
  raise_unless_ok(check_scalar_type(op, request, type));
  return type;
}

bool to_bool(const char* op, const char* argument, py::handle value) {
  if (value.ptr() == Py_True || value.ptr() == Py_False) return value.ptr() == Py_True;
  const std::string type = type_name(value);
  if (type != "numpy.bool_" && type != "numpy.bool")
    raise_wrong_kind(op, argument, "a bool", value);
  return PyObject_IsTrue(value.ptr()) == 1;
}

Numerics to_numerics(const char* op, py::handle value, bool has_profiles) {
  py::object name = py::reinterpret_borrow<py::object>(value);
  if (value.is_none()) {
    PyObject* current = nullptr;
    if (PyContextVar_Get(numerics_default.ptr(), nullptr, &current) < 0)
      throw py::error_already_set();
    name = py::reinterpret_steal<py::object>(current);
  }
  Numerics numerics;
  raise_unless_ok(check_numerics(op, to_string(op, "numerics", name), has_profiles, numerics));
  return numerics;
}

namespace {

struct Reader {
  const char* op;
  const char* name;
  py::handle value;

  void operator()(int64_t& field) const { field = to_int(op, name, value); }
  void operator()(double& field) const { field = to_double(op, name, value); }
  void operator()(bool& field) const { field = to_bool(op, name, value); }
  void operator()(DTypeRequest& field) const { to_dtype(op, name, value, field); }
  void operator()(AnyChoice& field) const { field.choose(to_string(op, name, value)); }
  void operator()(Wanted& field) const { read_list(field, "a list of two bools", to_bool); }
  void operator()(Integers& field) const { read_list(field, "a list of ints", to_int); }

  template <class List, class Convert>
  void read_list(List& field, const char* expected, Convert convert) const {
    const py::tuple items = owned_list(op, name, value, expected);
    field.count = static_cast<int64_t>(items.size());
    for (size_t i = 0; i < items.size() && i < std::size(field.each); ++i)
      field.each[i] = convert(op, name, items[i]);
  }
};

}  // namespace

void read(const char* op, const Attribute& attribute, py::handle value) {
  if (attribute.is_required || !value.is_none())
    attribute.with_field(Reader{op, attribute.name, value});
}

}  // namespace npu_quant::python
