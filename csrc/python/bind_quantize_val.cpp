// quantize_val and dequantize_val: of an array, or of a number, which is an array of one element
// until it is returned.
#include <optional>

#include "ops/quantize_val.h"
#include "python/bind.h"
#include "quantizer/per_tensor_affine_quantizer.h"

namespace npu_quant::python {
namespace {

bool is_number(py::handle value) {
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) return true;
  return !is_array(value) && py::isinstance(value, py::module_::import("numpy").attr("generic"));
}

// Runs an op on a number that lies at `from`, and returns the number it gives.
template <class Op>
double run_on_number(Op& op, const void* from, DType dtype, py::handle out) {
  op.value = contiguous_view(from, dtype, 1);
  raise_unless_ok(op.check());
  if (!out.is_none())
    throw py::type_error(std::string(op.name) + ": out is " + with_article(type_name(out)) +
                         ", expected None where value is a number.");
  int64_t memory = 0;
  TensorView result = contiguous_view(&memory, op.outputs[0].dtype, 1);
  result.writable = true;
  raise_unless_ok(op.run(&result));
  return number_in(result);
}

py::object quantize_val(Arguments arguments) {
  const py::handle scale = arguments[0], zero_point = arguments[1], value = arguments[2],
                   scalar_type = arguments[3], out = arguments[4], numerics = arguments[5];
  QuantizeVal op("quantize_val", "value", {});
  std::optional<PerTensorAffineQuantizer> quantizer;
  const auto read_attributes = [&] {
    const double s = to_double(op.name, "scale", scale);
    const int64_t z = to_int(op.name, "zero_point", zero_point);
    const ScalarType type = to_scalar_type(op.name, scalar_type);
    raise_unless_ok(check_code(op.name, "zero_point", z, type));
    op.parameters = quantizer.emplace(type, s, z).parameters();
    op.numerics = to_numerics(op.name, numerics, op.has_profiles());
  };
  if (is_number(value)) {
    const float x = to_float32(to_double(op.name, "value", value));
    read_attributes();
    return py::int_(static_cast<int64_t>(run_on_number(op, &x, DType::float32, out)));
  }
  ArrayArguments arrays(op.name, op.inputs(), &arguments[2]);
  return run(op, arrays, PlainArguments(read_attributes), out);
}

py::object dequantize_val(Arguments arguments) {
  const py::handle scale = arguments[0], zero_point = arguments[1], value = arguments[2],
                   out = arguments[3], numerics = arguments[4];
  DequantizeVal op("dequantize_val", "value", {});
  std::optional<PerTensorAffineQuantizer> quantizer;
  double s = 0;
  int64_t z = 0;
  const auto read_attributes = [&] {
    s = to_double(op.name, "scale", scale);
    z = to_int(op.name, "zero_point", zero_point);
    op.numerics = to_numerics(op.name, numerics, op.has_profiles());
  };
  const auto make_quantizer = [&](ScalarType type) {
    raise_unless_ok(check_code(op.name, "zero_point", z, type));
    op.parameters = quantizer.emplace(type, s, z).parameters();
  };
  if (is_number(value)) {
    const int64_t code = to_int(op.name, "value", value);
    read_attributes();
    raise_unless_ok(check_code(op.name, "value", code, kQInt32));
    make_quantizer(kQInt32);
    const auto q = static_cast<int32_t>(code);
    return py::float_(run_on_number(op, &q, DType::int32, out));
  }
  ArrayArguments arrays(op.name, op.inputs(), &arguments[2]);
  const PlainArguments plain([&] {
    read_attributes();
    arrays.fill_views();  // no line of Python runs from here on
    ScalarType type = kQInt8;
    if (find_scalar_type(op.value.dtype, type)) make_quantizer(type);
  });
  return run(op, arrays, plain, out);
}

}  // namespace

void bind_quantize_val(py::module_& module) {
  define<&quantize_val>(module, "quantize_val",
                        {"scale", "zero_point", "value", "scalar_type", "out", "numerics"});
  define<&dequantize_val>(module, "dequantize_val",
                          {"scale", "zero_point", "value", "out", "numerics"});
}

}  // namespace npu_quant::python
