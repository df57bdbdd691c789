#include "ops/trans_quant_param.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_trans_quant_param(py::handle scale, py::handle offset, py::handle round_mode,
                                 py::handle out, py::handle numerics) {
  TransQuantParam op;
  return run(op, {scale, offset}, {out, numerics}, [&] {
    if (!round_mode.is_none()) op.round_mode = to_int(op.name, "round_mode", round_mode);
  });
}

}  // namespace

void bind_trans_quant_param(py::module_& module) {
  define<&npu_trans_quant_param>(
      module, "npu_trans_quant_param",
      "npu_trans_quant_param($module, scale, offset, round_mode, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
