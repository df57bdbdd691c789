#include "python/bind.h"

#include <cstdlib>
#include <memory>

#include "core/memory.h"

namespace npu_quant::python {
namespace {

// Type numbers of NumPy's own types are fixed; user types get theirs at registration, per process.
enum NumpyTypeNumber { kInt8 = 1, kUint8 = 2, kInt32 = 5, kFloat32 = 11, kFloat16 = 23 };

// Python objects for the life of the process. Never destroyed: there may be no interpreter left by
// then.
struct Objects {
  int bfloat16_number = -1;
  py::handle int8, float32, bfloat16;
  PyTypeObject* ndarray = nullptr;
  py::handle masked_array;
  py::handle numerics_default;
};
Objects objects;

DType dtype_of_number(int number) {
  switch (number) {
    case kInt8: return DType::int8;
    case kUint8: return DType::uint8;
    case kInt32: return DType::int32;
    case kFloat32: return DType::float32;
    case kFloat16: return DType::float16;
    default: return number == objects.bfloat16_number ? DType::bfloat16 : DType::other;
  }
}

py::handle numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::int8: return objects.int8;
    case DType::bfloat16: return objects.bfloat16;
    default: return objects.float32;
  }
}

bool is_byte_swapped(const py::detail::PyArray_Proxy* array) {
  const char order = py::detail::array_descriptor_proxy(array->descr)->byteorder;
  return order == '>';
}

// `name` keeps the text of a dtype that is not ours.
void fill_view(TensorView& view, py::handle value, std::string& name) {
  const auto* array = py::detail::array_proxy(value.ptr());
  view.present = true;
  view.data = array->data;
  view.dtype = dtype_of_number(py::detail::array_descriptor_proxy(array->descr)->type_num);
  if (view.dtype == DType::other || is_byte_swapped(array)) {
    view.dtype = DType::other;
    name = shortened(py::str(py::handle(array->descr)).cast<std::string>());
    view.dtype_name = name.c_str();
  } else {
    view.dtype_name = name_of(view.dtype);
  }
  view.writable = (array->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) != 0;
  view.rank = array->nd;
  view.shape.rank = array->nd < kMaxRank ? array->nd : kMaxRank;
  for (int i = 0; i < view.shape.rank; ++i) {
    view.shape.dims[i] = array->dimensions[i];
    view.strides[i] = array->strides[i];
  }
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

bool is_plain_array(py::handle value) { return Py_TYPE(value.ptr()) == objects.ndarray; }

// Subclasses are arrays too, but for masked ones.
Status check_is_array(const char* op, const char* argument, py::handle value,
                      const std::string& remedy) {
  const bool is_array = py::isinstance<py::array>(value);
  if (is_array && !py::isinstance(value, objects.masked_array)) return {};
  const std::string type = type_name(value), name = argument;
  if (is_array)
    return not_an_array(
        op, argument, type,
        "Its mask would be lost: pass " + name + ".filled(0) or " + name + ".data.");
  if (type == "torch.Tensor" || type == "torch.nn.parameter.Parameter")
    return not_an_array(op, argument, type,
                        "Pass " + name + ".detach().cpu().numpy(); for bfloat16 " + name +
                            ".detach().cpu().view(torch.int16).numpy().view(ml_dtypes.bfloat16).");
  return not_an_array(op, argument, type, remedy);
}

std::string convert_remedy(const char* argument) {
  return std::string("Convert it, e.g. with np.asarray(") + argument + ", dtype=np.float16).";
}

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
  throw py::type_error(std::string(op) + ": " + argument + " is " + with_article(type_name(value)) +
                       ", expected " + expected + ".");
}

py::object fresh_array(const OutputSpec& spec) {
  const auto dtype = py::reinterpret_borrow<py::dtype>(numpy_dtype(spec.dtype));
  const py::array::ShapeContainer shape(spec.shape.dims, spec.shape.dims + spec.shape.rank);
  const auto bytes = static_cast<std::size_t>(spec.shape.size() * size_of(spec.dtype));
  if (bytes < kLargeOutput) return py::array(dtype, shape);
  void* data = allocate_large(bytes);
  if (data == nullptr) throw std::bad_alloc();
  std::unique_ptr<void, void (*)(void*) noexcept> owner(data, free_large);
  const py::capsule capsule(data, free_large);
  owner.release();
  return py::array(dtype, shape, data, capsule);
}

}  // namespace

void initialise(py::module_& module) {
  objects.int8 = py::dtype("int8").release();
  objects.float32 = py::dtype("float32").release();
  objects.bfloat16 =
      py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16")).release();
  objects.bfloat16_number = py::reinterpret_borrow<py::dtype>(objects.bfloat16).num();
  objects.ndarray = py::detail::npy_api::get().PyArray_Type_;
  objects.masked_array =
      py::object(py::module_::import("numpy").attr("ma").attr("MaskedArray")).release();
  const char* from_environment = std::getenv("NPU_QUANT_NUMERICS");
  const py::str process_default(from_environment != nullptr ? from_environment : kNumericsNames[0]);
  objects.numerics_default = PyContextVar_New("npu_quant.numerics", process_default.ptr());
  module.attr("numerics_default") = objects.numerics_default;
}

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

ArrayArguments::ArrayArguments(const char* op, std::initializer_list<ArrayArgument> arguments) {
  for (const ArrayArgument& argument : arguments)
    if (argument.required && argument.value.is_none()) raise_unless_ok(missing(op, argument.name));
  for (const ArrayArgument& argument : arguments) {
    if (argument.value.is_none()) continue;
    if (!is_plain_array(argument.value))
      raise_unless_ok(
          check_is_array(op, argument.name, argument.value, convert_remedy(argument.name)));
    values_[count_] = argument.value;
    views_[count_++] = &argument.view;
  }
}

void ArrayArguments::fill_views() {
  for (size_t i = 0; i < count_; ++i) fill_view(*views_[i], values_[i], names_[i]);
}

double to_double(const char* op, const char* argument, py::handle value) {
  if (PyFloat_CheckExact(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  const bool is_complex =
      PyComplex_Check(value.ptr()) || type_name(value).rfind("numpy.complex", 0) == 0;
  if (is_complex || py::isinstance<py::array>(value))
    raise_wrong_kind(op, argument, "a number", value);
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    raise_unless_ok(param_fault(op, std::string(argument) + " is too large for a float."));
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
  if (PyIndex_Check(value.ptr()) == 0 || py::isinstance<py::array>(value))
    raise_wrong_kind(op, argument, "an int", value);
  const Py_ssize_t number = PyNumber_AsSsize_t(value.ptr(), nullptr);  // clips
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return number;
}

std::string_view to_string(const char* op, const char* argument, py::handle value) {
  if (!PyUnicode_Check(value.ptr())) raise_wrong_kind(op, argument, "a str", value);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text != nullptr) return {text, static_cast<size_t>(size)};
  PyErr_Clear();
  return "(not to be written in UTF-8)";
}

DTypeRequest to_dtype(const char* op, py::handle value) {
  DTypeRequest request;
  if (value.is_none()) return request;
  request.is_default = false;
  // 1 is torch.int8, the documents' default: no need to look it up.
  int overflow = 0;
  if (PyLong_CheckExact(value.ptr()) && PyLong_AsLongAndOverflow(value.ptr(), &overflow) == 1) {
    request.dtype = DType::int8;
    return request;
  }
  py::object found;
  try {
    found = py::module_::import("npu_quant.dtypes").attr("resolve")(value);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    raise_wrong_kind(op, "dst_type", "an int code, a dtype or a dtype's name", value);
  }
  if (found.is_none()) {
    request.text = text_of(value);
  } else {
    request.dtype = static_cast<DType>(found.attr("acl_code").cast<int>());
    request.text = found.attr("name").cast<std::string>();
  }
  return request;
}

Numerics to_numerics(const char* op, py::handle value) {
  py::object name = py::reinterpret_borrow<py::object>(value);
  if (value.is_none()) {
    PyObject* current = nullptr;
    if (PyContextVar_Get(objects.numerics_default.ptr(), nullptr, &current) < 0)
      throw py::error_already_set();
    name = py::reinterpret_steal<py::object>(current);
  }
  Numerics numerics = Numerics::reference;
  raise_unless_ok(check_numerics(op, to_string(op, "numerics", name), numerics));
  return numerics;
}

Outputs::Outputs(const char* op, py::handle out, const OutputSpec* specs, int count, Code code)
    : count_(count) {
  if (!out.is_none())
    take(op, out, specs, code);
  else
    for (int i = 0; i < count; ++i) arrays_[i] = fresh_array(specs[i]);
  for (int i = 0; i < count; ++i)
    if (!arrays_[i].is_none()) fill_view(views_[i], arrays_[i], names_[i]);
}

void Outputs::take(const char* op, py::handle out, const OutputSpec* specs, Code code) {
  if (!PyTuple_Check(out.ptr()))
    raise_unless_ok(out_not_a_tuple(op, type_name(out), specs, count_));
  const auto given = static_cast<int>(PyTuple_GET_SIZE(out.ptr()));
  if (given != count_) raise_unless_ok(wrong_out_length(op, given, specs, count_, code));
  for (int i = 0; i < count_; ++i) {
    arrays_[i] = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(out.ptr(), i));
    if (arrays_[i].is_none() || is_plain_array(arrays_[i])) continue;
    const std::string name = "out[" + std::string(specs[i].name) + "]";
    raise_unless_ok(check_is_array(op, name.c_str(), arrays_[i], "Pass an array to be written."));
  }
}

py::object Outputs::as(py::handle result_type) && {
  auto* type = reinterpret_cast<PyTypeObject*>(result_type.ptr());
  if (PyType_Check(result_type.ptr()) == 0 || PyType_IsSubtype(type, &PyTuple_Type) == 0)
    throw py::type_error("result_type is no tuple class.");
  // What tuple.__new__ does for a subclass, without a tuple in between.
  auto result = py::reinterpret_steal<py::object>(type->tp_alloc(type, count_));
  if (!result) throw py::error_already_set();
  for (int i = 0; i < count_; ++i) PyTuple_SET_ITEM(result.ptr(), i, arrays_[i].release().ptr());
  return result;
}

}  // namespace npu_quant::python
