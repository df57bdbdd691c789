// The quantizers: npu_quant/quantizer.py dresses these classes.
#include "python/bind.h"
#include "quantizer/per_channel_affine_quantizer.h"
#include "quantizer/per_tensor_affine_quantizer.h"

namespace npu_quant::python {
namespace {

std::unique_ptr<PerTensorAffineQuantizer> make_per_tensor(py::handle scale, py::handle zero_point,
                                                          py::handle scalar_type) {
  const char* name = "PerTensorAffineQuantizer";
  const double s = to_double(name, "scale", scale);
  const int64_t z = to_int(name, "zero_point", zero_point);
  std::unique_ptr<PerTensorAffineQuantizer> quantizer;
  raise_unless_ok(
      make_per_tensor_affine_quantizer(s, z, to_scalar_type(name, scalar_type), quantizer, name));
  return quantizer;
}

std::unique_ptr<PerChannelAffineQuantizer> make_per_channel(py::handle scales,
                                                            py::handle zero_points, py::handle axis,
                                                            py::handle scalar_type) {
  const char* name = "PerChannelAffineQuantizer";
  TensorView s, z;
  static constexpr Takes of_scales = one_of(kFloat32), of_zero_points = one_of(kInt32);
  const Inputs inputs =
      Inputs::of(required("scales", s, of_scales), required("zero_points", z, of_zero_points));
  PyObject* const values[] = {scales.ptr(), zero_points.ptr()};
  ArrayArguments arrays(name, inputs, values);
  int64_t place = 0;
  ScalarType type = kQInt8;
  const PlainArguments plain([&] {
    place = to_int(name, "axis", axis);
    type = to_scalar_type(name, scalar_type);
  });
  arrays.fill_views();
  if (plain.failed()) {  // faults of arrays come first
    raise_unless_ok(PerChannelAffineQuantizer::check_arrays(name, s, z));
    plain.raise_fault();
  }
  std::unique_ptr<PerChannelAffineQuantizer> quantizer;
  raise_unless_ok(make_per_channel_affine_quantizer(s, z, place, type, quantizer, name));
  return quantizer;
}

// The quantizer comes before the arguments of its operator.
py::object quantize(Arguments arguments) {
  QuantizeVal op = py::handle(arguments[0]).cast<const Quantizer&>().quantize_op();
  return run(op, arguments.subspan(1));
}

py::object dequantize(Arguments arguments) {
  DequantizeVal op = py::handle(arguments[0]).cast<const Quantizer&>().dequantize_op();
  return run(op, arguments.subspan(1));
}

template <class T>
py::array to_array(const std::vector<T>& numbers) {
  return py::array(py::dtype::of<T>(), static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

}  // namespace

void bind_quantizer(py::module_& module) {
  // pybind11's own metaclass serves static properties, which nothing here has.
  const py::metaclass plain(reinterpret_cast<PyObject*>(&PyType_Type));
  py::class_<Quantizer> base(module, "Quantizer", plain);
  base.def("scalar_type", [](const Quantizer& q) { return static_cast<int>(q.scalar_type()); })
      .def("qscheme", [](const Quantizer& q) { return static_cast<int>(q.qscheme()); })
      .def("equal_to", &Quantizer::equalTo, py::arg("other"));
  define_method<&quantize>(module, base, "quantize", {"self", "x", "out", "numerics"});
  define_method<&dequantize>(module, base, "dequantize", {"self", "q", "out", "numerics"});
  using PerTensor = PerTensorAffineQuantizer;
  py::class_<PerTensor, Quantizer>(module, "PerTensorAffineQuantizer", plain)
      .def(py::init(&make_per_tensor), py::arg("scale"), py::arg("zero_point"),
           py::arg("scalar_type"))
      .def("scale", &PerTensor::scale)
      .def("zero_point", &PerTensor::zero_point);
  using PerChannel = PerChannelAffineQuantizer;
  py::class_<PerChannel, Quantizer>(module, "PerChannelAffineQuantizer", plain)
      .def(py::init(&make_per_channel), py::arg("scales"), py::arg("zero_points"), py::arg("axis"),
           py::arg("scalar_type"))
      .def("scales", [](const PerChannel& q) { return to_array(q.scales()); })
      .def("zero_points", [](const PerChannel& q) { return to_array(q.zero_points()); })
      .def("axis", &PerChannel::axis);
}

}  // namespace npu_quant::python
