#include "python/torch_tensor.h"

#include <iterator>

#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object checked(PyObject* fresh) {
  if (fresh == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(fresh);
}

py::handle interned(const char* name) {
  return checked(PyUnicode_InternFromString(name)).release();
}
py::handle member(py::handle owner, const char* name) {
  return py::object(owner.attr(name)).release();
}

py::object get(py::handle tensor, py::handle name) {
  return checked(PyObject_GetAttr(tensor.ptr(), name.ptr()));
}
py::object call(py::handle tensor, py::handle method) {
  return checked(PyObject_CallMethodNoArgs(tensor.ptr(), method.ptr()));
}

// What is asked of torch, for the life of the process.
struct Torch {
  explicit Torch(py::handle torch)
      : tensor(member(torch, "Tensor")),
        dispatch(member(tensor, "__torch_dispatch__")),
        strided(member(torch, "strided")),
        from_numpy(member(torch, "from_numpy")) {
    const py::object graph = torch.attr("autograd").attr("graph");
    if (py::hasattr(graph, "increment_version"))
      increment_version = member(graph, "increment_version");
    has_untyped_storage = py::hasattr(tensor, "untyped_storage");
    for (size_t i = 0; i < std::size(kFormats); ++i)
      if (plain_dtype(kFormats[i]) != DType::other && py::hasattr(torch, kFormats[i].name))
        dtypes[i] = member(torch, kFormats[i].name);
  }

  DType dtype_of(py::handle dtype) const {
    for (size_t i = 0; i < std::size(kFormats); ++i)
      if (dtypes[i].is(dtype)) return plain_dtype(kFormats[i]);
    return DType::other;
  }

  py::handle tensor, dispatch, strided, from_numpy;
  py::handle increment_version;            // null where this torch lacks it
  bool has_untyped_storage;                // torch before 2.0 lacks it
  py::handle dtypes[std::size(kFormats)];  // null where this torch lacks one
  py::handle is_cpu = interned("is_cpu"), layout = interned("layout"),
             requires_grad = interned("requires_grad"), is_neg = interned("is_neg"),
             dtype = interned("dtype"), is_quantized = interned("is_quantized"),
             data_ptr = interned("data_ptr"), untyped_storage = interned("untyped_storage"),
             shape = interned("shape"), stride = interned("stride"),
             is_inference = interned("is_inference");
};

// Null while nobody has imported torch to the end, and where something else goes by its name.
const Torch* find_torch() {
  static const Torch* found = nullptr;
  if (found != nullptr) return found;
  const auto module = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("torch").ptr()));
  PyErr_Clear();
  try {
    if (module && PyType_Check(module.attr("Tensor").ptr()) != 0) found = new Torch(module);
  } catch (const py::error_already_set&) {
  }
  return found;
}

std::string words_of(const py::object& value) {
  return shortened(py::str(value).cast<std::string>());
}

Status check_device(const char* op, const Part& argument, py::handle tensor) {
  const std::string device = words_of(tensor.attr("device"));
  const std::string remedy = device == "meta" ? "A meta tensor has no elements."
                                              : "Pass " + plain_word(argument) + ".cpu().";
  return fault(op, Fault::dtype, {argument}, {"is on device ", device}, "expected cpu", remedy);
}

// Whether its elements are to be had in place.
Status check_tensor(const Torch& torch, const char* op, const Part& argument, py::handle tensor) {
  const auto refuse = [&](const Text& came, const char* expected, const std::string& remedy) {
    return fault(op, Fault::dtype, {argument}, came, expected,
                 "Pass " + plain_word(argument) + remedy);
  };
  if (get(tensor, torch.is_cpu).ptr() != Py_True) return check_device(op, argument, tensor);
  if (const py::object layout = get(tensor, torch.layout); !layout.is(torch.strided))
    return refuse({"has layout ", words_of(layout)}, "expected torch.strided", ".to_dense().");
  if (get(tensor, torch.requires_grad).ptr() == Py_True)
    return refuse("requires grad", "expected a tensor that does not require grad", ".detach().");
  if (call(tensor, torch.is_neg).ptr() == Py_True)
    return refuse("has its negative bit set", "expected it not to be set", ".resolve_neg().");
  const py::object dtype = get(tensor, torch.dtype);
  if (torch.dtype_of(dtype) == DType::other && get(tensor, torch.is_quantized).ptr() == Py_True)
    return refuse({"has dtype ", words_of(dtype)}, "expected a tensor that is not quantized",
                  ".int_repr() for its codes, .dequantize() for its values.");
  return {};
}

void read(const Torch& torch, TensorView& view, py::handle tensor, Borrowed& borrowed) {
  const py::object dtype = get(tensor, torch.dtype);
  view.present = view.writable = view.of_torch = true;
  view.dtype = torch.dtype_of(dtype);
  view.dtype_name = view.dtype == DType::other
                        ? borrowed.names.emplace_front(words_of(dtype)).c_str()
                        : name_of(view.dtype);
  if (torch.has_untyped_storage) borrowed.owners.push_front(call(tensor, torch.untyped_storage));
  view.data = static_cast<char*>(PyLong_AsVoidPtr(call(tensor, torch.data_ptr).ptr()));
  const py::tuple shape = get(tensor, torch.shape), strides = call(tensor, torch.stride);
  view.rank = static_cast<int>(shape.size());
  view.shape.rank = view.rank < kMaxRank ? view.rank : kMaxRank;
  for (int i = 0; i < view.shape.rank; ++i) {
    view.shape.dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i));
    view.strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides.ptr(), i)) * size_of(view.dtype);
  }
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
}

// What computes by itself, as tensors do that are traced, tells of elements that it has not.
bool computes_by_itself(const Torch& torch, py::handle tensor) {
  const py::handle type = py::type::handle_of(tensor);
  return !type.is(torch.tensor) && !torch.dispatch.is(py::object(type.attr("__torch_dispatch__")));
}

py::object array_of(Arguments arguments) {
  const py::handle tensor = arguments[0], op = arguments[1], argument = arguments[2];
  const auto name = op.cast<std::string>();
  const Argument part(argument.cast<std::string>());
  TensorView view;
  Borrowed borrowed;
  raise_unless_ok(fill_view_of_tensor(view, name.c_str(), part, tensor, borrowed));
  if (view.dtype == DType::other)
    raise_unless_ok(fault(name.c_str(), Fault::dtype, {part}, {"has dtype ", DTypeOf(view)},
                          "expected numbers"));
  return array_over(view, borrowed.owners.empty() ? tensor : borrowed.owners.front());
}

py::object is_tensor_of_torch(Arguments arguments) { return py::bool_(is_tensor(arguments[0])); }

py::object tensor_in_place(const py::array& array, DType dtype) {
  const Torch& torch = *find_torch();
  constexpr int kFirstOfOthers = 256;  // NumPy's NPY_USERDEF
  if (array.dtype().num() < kFirstOfOthers) return torch.from_numpy(array);
  const py::handle of_torch = torch.dtypes[find_row(format_of(dtype)) - kFormats];
  if (!of_torch)
    throw py::type_error(std::string("This torch has no dtype ") + name_of(dtype) +
                         ": pass arrays, or use a later torch.");
  const char* const carrier = size_of(dtype) == 2 ? "int16" : "uint8";
  return torch.from_numpy(array.attr("view")(carrier)).attr("view")(of_torch);
}

}  // namespace

bool is_tensor(py::handle value) {
  PyTypeObject* const type = Py_TYPE(value.ptr());
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return false;  // a number: looks nothing up
  const Torch* const torch = find_torch();
  return torch != nullptr &&
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(torch->tensor.ptr())) != 0;
}

bool is_scalar(py::handle tensor) { return tensor.attr("ndim").cast<int>() == 0; }

Status fill_view_of_tensor(TensorView& view, const char* op, const Part& argument,
                           py::handle tensor, Borrowed& borrowed) {
  const Torch& torch = *find_torch();
  std::string why;
  try {
    NPU_QUANT_RETURN_IF_ERROR(check_tensor(torch, op, argument, tensor));
    if (!computes_by_itself(torch, tensor)) {
      read(torch, view, tensor, borrowed);
      if (view.data != nullptr || view.shape.size() == 0) return {};
    }
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    why = " (" + quoted(py::str(error.value()).cast<std::string>()) + ")";
  }
  return fault(op, Fault::dtype, {argument},
               {"is ", with_article(type_name(tensor)), " without elements in memory", why},
               "expected a plain torch.Tensor");
}

// Those of torch.inference_mode() have no versions.
void count_version(py::handle tensor) {
  const Torch& torch = *find_torch();
  if (!torch.increment_version || call(tensor, torch.is_inference).ptr() == Py_True) return;
  torch.increment_version(tensor);
}

py::object tensor_over(const py::array& array, DType dtype) {
  const py::object tensor = tensor_in_place(array, dtype);
  if (array.size() > 0) return tensor;
  return tensor.attr("new_empty")(tensor.attr("shape"));  // NumPy's strides of nothing are 0
}

void bind_torch_tensor(py::module_& module) {
  define<&is_tensor_of_torch>(module, "is_tensor", {"value"});
  define<&array_of>(module, "array_of", {"tensor", "op", "argument"});
}

}  // namespace npu_quant::python
