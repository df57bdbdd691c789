// The fake-quantization family. A function is a name, a form, and whether it returns the mask.
#include "ops/fake_quantize.h"
#include "python/bind.h"
#include "python/torch_tensor.h"

namespace npu_quant::python {
namespace {

struct Range {
  py::handle quant_min, quant_max;

  void read_into(FakeQuantize& op) const {
    op.quant_min = to_int(op.name, "quant_min", quant_min);
    op.quant_max = to_int(op.name, "quant_max", quant_max);
  }
};

py::object with_numbers(FakeQuantize op, const Common& common, py::handle self, py::handle scale,
                        py::handle zero_point, const Range& range) {
  return run(op, {self}, common, [&] {
    op.scale_number = to_double(op.name, "scale", scale);
    op.zero_point_number = to_int(op.name, "zero_point", zero_point);
    range.read_into(op);
  });
}

py::object with_arrays(FakeQuantize op, const Common& common, py::handle self, py::handle scale,
                       py::handle zero_point, py::handle fake_quant_enabled, const Range& range) {
  op.has_switch = fake_quant_enabled.ptr() != nullptr;
  if (!op.has_switch) fake_quant_enabled = Py_None;
  return run(op, {self, scale, zero_point, fake_quant_enabled}, common,
             [&] { range.read_into(op); });
}

py::object with_channels(FakeQuantize op, const Common& common, py::handle self, py::handle scale,
                         py::handle zero_point, py::handle axis, const Range& range) {
  return run(op, {self, scale, zero_point}, common, [&] {
    op.axis = to_int(op.name, "axis", axis);
    range.read_into(op);
  });
}

using Form = FakeQuantize::Form;

py::object per_tensor_cachemask(py::handle result_type, py::handle self, py::handle scale,
                                py::handle zero_point, py::handle quant_min, py::handle quant_max,
                                py::handle out, py::handle numerics) {
  return with_numbers({"fake_quantize_per_tensor_affine_cachemask", Form::numbers, true},
                      {out, numerics, result_type}, self, scale, zero_point,
                      {quant_min, quant_max});
}

py::object per_tensor_cachemask_tensor_qparams(py::handle result_type, py::handle self,
                                               py::handle scale, py::handle zero_point,
                                               py::handle fake_quant_enabled, py::handle quant_min,
                                               py::handle quant_max, py::handle out,
                                               py::handle numerics) {
  return with_arrays(
      {"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", Form::arrays, true},
      {out, numerics, result_type}, self, scale, zero_point, fake_quant_enabled,
      {quant_min, quant_max});
}

// A fault, but faults of self come first.
py::object with_one_array(const char* name, py::handle self, bool is_scale, py::handle out) {
  FakeQuantize op(name, Form::numbers, false);
  return run(op, {self}, {out, {}}, [&] {
    throw py::type_error(std::string(name) + ": " + (is_scale ? "scale" : "zero_point") +
                         " is an array and " + (is_scale ? "zero_point" : "scale") +
                         " is not, expected two numbers or two arrays.");
  });
}

// Either form, as torch overloads it.
py::object per_tensor(py::handle self, py::handle scale, py::handle zero_point,
                      py::handle quant_min, py::handle quant_max, py::handle out,
                      py::handle numerics) {
  const char* name = "fake_quantize_per_tensor_affine";
  const Common common{out, numerics};
  const Range range{quant_min, quant_max};
  const bool is_first = is_array(scale), is_second = is_array(zero_point);
  if (is_first != is_second && !is_tensor(is_first ? scale : zero_point))
    return with_one_array(name, self, is_first, out);
  if (is_first && is_second)
    return with_arrays({name, Form::arrays, false}, common, self, scale, zero_point, {}, range);
  return with_numbers({name, Form::numbers, false}, common, self, scale, zero_point, range);
}

py::object per_channel_cachemask(py::handle result_type, py::handle self, py::handle scale,
                                 py::handle zero_point, py::handle axis, py::handle quant_min,
                                 py::handle quant_max, py::handle out, py::handle numerics) {
  return with_channels({"fake_quantize_per_channel_affine_cachemask", Form::per_channel, true},
                       {out, numerics, result_type}, self, scale, zero_point, axis,
                       {quant_min, quant_max});
}

py::object per_channel(py::handle self, py::handle scale, py::handle zero_point, py::handle axis,
                       py::handle quant_min, py::handle quant_max, py::handle out,
                       py::handle numerics) {
  return with_channels({"fake_quantize_per_channel_affine", Form::per_channel, false},
                       {out, numerics}, self, scale, zero_point, axis, {quant_min, quant_max});
}

py::object backward(const char* name, py::handle grad, py::handle mask, const Common& common) {
  FakeQuantizeBackward op(name);
  return run(op, {grad, mask}, common, [] {});
}

py::object per_tensor_backward(py::handle grad, py::handle mask, py::handle out,
                               py::handle numerics) {
  return backward("fake_quantize_per_tensor_affine_cachemask_backward", grad, mask,
                  {out, numerics});
}

py::object per_channel_backward(py::handle grad, py::handle mask, py::handle out,
                                py::handle numerics) {
  return backward("fake_quantize_per_channel_affine_cachemask_backward", grad, mask,
                  {out, numerics});
}

}  // namespace

void bind_fake_quantize(py::module_& module) {
  define<&per_tensor_cachemask>(
      module, "fake_quantize_per_tensor_affine_cachemask",
      "fake_quantize_per_tensor_affine_cachemask($module, result_type, self, scale, zero_point, "
      "quant_min, quant_max, out, numerics, /)\n--\n\n");
  define<&per_tensor_cachemask_tensor_qparams>(
      module, "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
      "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams($module, result_type, self, "
      "scale, zero_point, fake_quant_enabled, quant_min, quant_max, out, numerics, /)\n--\n\n");
  define<&per_tensor>(module, "fake_quantize_per_tensor_affine",
                      "fake_quantize_per_tensor_affine($module, self, scale, zero_point, "
                      "quant_min, quant_max, out, numerics, /)\n--\n\n");
  define<&per_channel_cachemask>(
      module, "fake_quantize_per_channel_affine_cachemask",
      "fake_quantize_per_channel_affine_cachemask($module, result_type, self, scale, zero_point, "
      "axis, quant_min, quant_max, out, numerics, /)\n--\n\n");
  define<&per_channel>(module, "fake_quantize_per_channel_affine",
                       "fake_quantize_per_channel_affine($module, self, scale, zero_point, axis, "
                       "quant_min, quant_max, out, numerics, /)\n--\n\n");
  define<&per_tensor_backward>(module, "fake_quantize_per_tensor_affine_cachemask_backward",
                               "fake_quantize_per_tensor_affine_cachemask_backward($module, grad, "
                               "mask, out, numerics, /)\n--\n\n");
  define<&per_channel_backward>(module, "fake_quantize_per_channel_affine_cachemask_backward",
                                "fake_quantize_per_channel_affine_cachemask_backward($module, "
                                "grad, mask, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
