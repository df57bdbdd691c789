#include "python/numpy_view.h"

#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/memory.h"
#include "python/torch_tensor.h"

namespace npu_quant::python {
namespace {

// Python objects for the life of the process. Never destroyed: there may be no interpreter left by
// then.
struct Objects {
  py::handle dtypes[std::size(kFormats)];  // of what an array can hold as it is
  std::vector<DType> of_numbers;           // of NumPy's types, and of those that others register
  PyTypeObject* ndarray = nullptr;
};
Objects objects;

DType dtype_of_number(int number) {
  const auto i = static_cast<size_t>(number);
  return i < objects.of_numbers.size() ? objects.of_numbers[i] : DType::other;
}

void remember(const py::dtype& dtype, DType ours) {
  const auto i = static_cast<size_t>(dtype.num());
  if (i >= objects.of_numbers.size()) objects.of_numbers.resize(i + 1, DType::other);
  objects.of_numbers[i] = ours;
}

py::handle numpy_dtype(DType dtype) {
  const FormatRow* const row = find_row(format_of(dtype));
  if (row == nullptr) throw std::logic_error("an output of no dtype");
  return objects.dtypes[row - kFormats];
}

bool is_byte_swapped(const py::detail::PyArray_Proxy* array) {
  const char order = py::detail::array_descriptor_proxy(array->descr)->byteorder;
  return order == '>';
}

bool is_plain_array(py::handle value) { return Py_TYPE(value.ptr()) == objects.ndarray; }

void fill_view(TensorView& view, py::handle value, Borrowed& borrowed) {
  const auto* array = py::detail::array_proxy(value.ptr());
  view.present = true;
  view.data = array->data;
  view.dtype = dtype_of_number(py::detail::array_descriptor_proxy(array->descr)->type_num);
  if (view.dtype == DType::other || is_byte_swapped(array)) {
    view.dtype = DType::other;
    const auto name = py::str(py::handle(array->descr)).cast<std::string>();
    view.dtype_name = borrowed.names.emplace_front(shortened(name)).c_str();
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

// Whether it is a masked array. Their module is not imported for that: without it there are none.
// Asking Python would ask the class, whose code could resize an array that is being read.
bool is_masked(py::handle value) {
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy.ma");
  if (module == nullptr) return false;
  const py::object masked = py::getattr(module, "MaskedArray", py::none());
  return PyType_Check(masked.ptr()) != 0 &&
         PyType_IsSubtype(Py_TYPE(value.ptr()), reinterpret_cast<PyTypeObject*>(masked.ptr())) != 0;
}

// Subclasses are arrays too, but for masked ones.
Status check_is_array(const char* op, const Part& argument, py::handle value,
                      const std::string& remedy) {
  const bool is_array = py::isinstance<py::array>(value);
  if (is_array && !is_masked(value)) return {};
  const std::string type = type_name(value), name = plain_word(argument);
  if (is_array)
    return not_an_array(
        op, argument, type,
        "Its mask would be lost: pass " + name + ".filled(0) or " + name + ".data.");
  return not_an_array(op, argument, type, remedy);
}

// Says which dtype to make of what is no array: never one that changes what is computed.
std::string convert_remedy(const Input& input) {
  const DType list = input.takes->of_list;
  const char* const dtype = list == DType::boolean ? "bool_" : name_of(list);
  return std::string("Convert it, e.g. with np.asarray(") + input.name + ", dtype=np." + dtype +
         ").";
}

py::object fresh_array(const char* op, const OutputSpec& spec) {
  const auto dtype = py::reinterpret_borrow<py::dtype>(numpy_dtype(spec.dtype));
  const py::array::ShapeContainer shape(spec.shape.dims, spec.shape.dims + spec.shape.rank);
  const auto bytes = static_cast<std::size_t>(spec.shape.size() * size_of(spec.dtype));
  if (bytes < kLargeOutput) return py::array(dtype, shape);
  void* data = allocate_large(bytes);
  if (data == nullptr) raise_unless_ok(out_of_memory(op));
  std::unique_ptr<void, void (*)(void*) noexcept> owner(data, free_large);
  const py::capsule capsule(data, free_large);
  owner.release();
  return py::array(dtype, shape, data, capsule);
}

}  // namespace

void initialise(py::module_& module) {
  py::module_::import("ml_dtypes");  // NumPy knows its types by name from then on
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    const DType ours = plain_dtype(kFormats[i]);
    if (ours == DType::other) continue;
    py::dtype dtype(kFormats[i].name);
    remember(dtype, ours);
    objects.dtypes[i] = dtype.release();
  }
  // C has two types of 64 bits, or of 32, of which one has the name.
  for (const char* integer : {"i", "l", "q", "I", "L", "Q"}) {
    const py::dtype dtype(integer);
    remember(dtype,
             dtype_of_number(
                 py::dtype((dtype.kind() + std::to_string(dtype.itemsize())).c_str()).num()));
  }
  objects.ndarray = py::detail::npy_api::get().PyArray_Type_;
  initialise_arguments(module);
}

bool is_array(py::handle value) {
  if (PyFloat_CheckExact(value.ptr()) || PyLong_CheckExact(value.ptr())) return false;  // mostly
  return py::isinstance<py::array>(value) || is_tensor(value);
}

py::object array_over(const TensorView& view, py::handle owner) {
  const auto& numpy = py::detail::npy_api::get();
  auto array = py::reinterpret_steal<py::object>(
      numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, numpy_dtype(view.dtype).inc_ref().ptr(),
                                  view.shape.rank, view.shape.dims, view.strides, view.data,
                                  py::detail::npy_api::NPY_ARRAY_WRITEABLE_, nullptr));
  if (!array || numpy.PyArray_SetBaseObject_(array.ptr(), owner.inc_ref().ptr()) < 0)
    throw py::error_already_set();
  return array;
}

ArrayArguments::ArrayArguments(const char* op, const Inputs& inputs, PyObject* const* values) {
  for (int i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_required && values[i] == Py_None) raise_unless_ok(missing(op, inputs[i].name));
  for (const Input& input : inputs) {
    const py::handle value = *values++;
    if (value.is_none()) continue;
    if (!is_plain_array(value)) {
      if (is_tensor(value)) {
        tensors_ |= 1U << count_;
        op_ = op;
        arguments_[count_] = input.name;
      } else {
        raise_unless_ok(check_is_array(op, Argument(input.name), value, convert_remedy(input)));
      }
    }
    values_[count_] = value;
    views_[count_++] = input.view;
  }
}

void ArrayArguments::fill_views() {
  if (tensors_ != 0) [[unlikely]]
    return fill_views_and_tensors();
  for (int i = 0; i < count_; ++i) fill_view(*views_[i], values_[i], borrowed_);
}

void ArrayArguments::fill_views_and_tensors() {
  for (int i = 0; i < count_; ++i)
    if ((tensors_ >> i & 1) == 0)
      fill_view(*views_[i], values_[i], borrowed_);
    else
      raise_unless_ok(
          fill_view_of_tensor(*views_[i], op_, Argument(arguments_[i]), values_[i], borrowed_));
}

Outputs::Outputs(const Op& op, py::handle out, Code param_code) : count_(op.outputs.size()) {
  if (!out.is_none() && count_ == 1)
    arrays_[0] = py::reinterpret_borrow<py::object>(out);
  else if (!out.is_none())
    take(op, out, param_code);
  else
    for (int i = 0; i < count_; ++i) arrays_[i] = fresh_array(op.name, op.outputs[i]);
  for (int i = 0; i < count_; ++i) {
    std::construct_at(views_ + i);
    if (is_plain_array(arrays_[i])) [[likely]]
      fill_view(views_[i], arrays_[i], borrowed_);
    else if (!arrays_[i].is_none())
      fill_view_of_other(op, i);
  }
}

void Outputs::take(const Op& op, py::handle out, Code param_code) {
  if (!PyTuple_Check(out.ptr()))
    raise_unless_ok(out_not_a_tuple(op.name, type_name(out), op.outputs));
  const auto given = static_cast<int>(PyTuple_GET_SIZE(out.ptr()));
  if (given != count_) raise_unless_ok(wrong_out_length(op.name, given, op.outputs), param_code);
  for (int i = 0; i < count_; ++i)
    arrays_[i] = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(out.ptr(), i));
}

void Outputs::fill_view_of_other(const Op& op, int i) {
  const Output name(op.outputs[i].name);
  if (is_tensor(arrays_[i]))
    return raise_unless_ok(fill_view_of_tensor(views_[i], op.name, name, arrays_[i], borrowed_));
  raise_unless_ok(check_is_array(op.name, name, arrays_[i], "Pass an array to be written."));
  fill_view(views_[i], arrays_[i], borrowed_);
}

void Outputs::turn_into_tensors() {
  for (int i = 0; i < count_; ++i)
    arrays_[i] = tensor_over(py::reinterpret_borrow<py::array>(arrays_[i]), views_[i].dtype);
}

void Outputs::count_versions() {
  for (int i = 0; i < count_; ++i)
    if (views_[i].of_torch) npu_quant::python::count_version(arrays_[i]);
}
py::object Outputs::as(py::handle result_type) && {
  if (count_ == 1) return std::move(arrays_[0]);
  auto* type = reinterpret_cast<PyTypeObject*>(result_type.ptr());
  if (PyType_Check(result_type.ptr()) == 0 || PyType_IsSubtype(type, &PyTuple_Type) == 0)
    throw py::type_error("result_type is not a tuple class.");
  // What tuple.__new__ does for a subclass, without a tuple in between.
  auto result = py::reinterpret_steal<py::object>(type->tp_alloc(type, count_));
  if (!result) throw py::error_already_set();
  for (int i = 0; i < count_; ++i) PyTuple_SET_ITEM(result.ptr(), i, arrays_[i].release().ptr());
  return result;
}

}  // namespace npu_quant::python
