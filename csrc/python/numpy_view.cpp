#include "python/bind.h"

#include <cstdlib>

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
    name = py::str(py::handle(array->descr)).cast<std::string>();
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

std::string type_name(py::handle value) {
  const py::handle type = py::type::handle_of(value);
  const auto module = type.attr("__module__").cast<std::string>();
  const auto name = type.attr("__qualname__").cast<std::string>();
  return module == "builtins" ? name : module + "." + name;
}

bool is_plain_array(py::handle value) { return Py_TYPE(value.ptr()) == objects.ndarray; }

// Subclasses are arrays too, but for masked ones.
Status check_is_array(const char* op, const char* argument, py::handle value) {
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
  return not_an_array(op, argument, type,
                      "Convert it, e.g. with np.asarray(" + name + ", dtype=np.float16).");
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
  return py::array(dtype, shape, data, py::capsule(data, free_large));
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
    const py::object error = type(status.message, static_cast<int>(status.code));
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
  int i = 0;
  for (const ArrayArgument& argument : arguments) {
    if (argument.value.is_none()) continue;
    if (!is_plain_array(argument.value))
      raise_unless_ok(check_is_array(op, argument.name, argument.value));
    fill_view(argument.view, argument.value, names_[i++]);
  }
}

double to_double(const char* op, const char* argument, py::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise_wrong_kind(op, argument, "a number", value);
  }
  return number;
}

int64_t to_int(const char* op, const char* argument, py::handle value) {
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return number;
  }
  if (PyIndex_Check(value.ptr()) == 0) raise_wrong_kind(op, argument, "an int", value);
  const Py_ssize_t number = PyNumber_AsSsize_t(value.ptr(), nullptr);  // clips
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return number;
}

std::string_view to_string(const char* op, const char* argument, py::handle value) {
  if (!PyUnicode_Check(value.ptr())) raise_wrong_kind(op, argument, "a str", value);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw py::error_already_set();
  return {text, static_cast<size_t>(size)};
}

DTypeRequest to_dtype(const char* op, py::handle value) {
  DTypeRequest request;
  if (value.is_none()) return request;
  request.is_default = false;
  if (PyLong_CheckExact(value.ptr()) &&
      PyLong_AsLong(value.ptr()) == 1) {  // torch.int8, the documents' default
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
    request.text = py::repr(value).cast<std::string>();
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
  if (!PyUnicode_Check(name.ptr())) raise_wrong_kind(op, "numerics", "a str", name);
  Numerics numerics = Numerics::reference;
  raise_unless_ok(check_numerics(op, PyUnicode_AsUTF8(name.ptr()), numerics));
  return numerics;
}

Outputs::Outputs(const char* op, py::handle out, const OutputSpec* specs, int count)
    : count_(count) {
  if (!out.is_none()) {
    take(op, out, specs);
    return;
  }
  for (int i = 0; i < count; ++i) {
    arrays_[i] = fresh_array(specs[i]);
    fill_view(views_[i], arrays_[i], names_[i]);
  }
}

void Outputs::take(const char* op, py::handle out, const OutputSpec* specs) {
  if (!py::isinstance<py::tuple>(out))
    raise_unless_ok(out_not_a_tuple(op, type_name(out), specs, count_));
  const auto given = py::reinterpret_borrow<py::tuple>(out);
  if (static_cast<int>(given.size()) != count_)
    raise_unless_ok(wrong_out_length(op, static_cast<int>(given.size()), specs, count_));
  for (int i = 0; i < count_; ++i) {
    arrays_[i] = given[static_cast<size_t>(i)];
    if (arrays_[i].is_none()) continue;
    if (!is_plain_array(arrays_[i]))
      raise_unless_ok(
          check_is_array(op, ("out[" + std::string(specs[i].name) + "]").c_str(), arrays_[i]));
    fill_view(views_[i], arrays_[i], names_[i]);
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
