#include "python/bind.h"

#include "python/released.h"

namespace npu_quant::python {

py::object run(Op& op, ArrayArguments& arrays, const PlainArguments& plain, py::handle out,
               py::handle result_type, Code param_code) {
  arrays.fill_views();
  if (plain.failed()) {  // faults of arrays come first
    raise_unless_ok(op.check_arrays(), param_code);
    plain.raise_fault();
  }
  raise_unless_ok(op.check(), param_code);
  raise_unless_ok(op.check_elements(), param_code);
  Outputs outputs(op, out, param_code);
  raise_unless_ok(op.check_outputs(outputs.views()), param_code);
  raise_unless_ok(run_released(op.bytes(), [&] { return op.run(outputs.views()); }));
  if (arrays.begin_with_tensor() && out.is_none()) [[unlikely]]
    outputs.turn_into_tensors();
  return std::move(outputs).as(result_type);
}

}  // namespace npu_quant::python
