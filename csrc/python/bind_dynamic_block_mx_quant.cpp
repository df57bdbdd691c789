#include "ops/dynamic_block_mx_quant.h"
#include "python/bind.h"
#include "python/mx_attributes.h"

namespace npu_quant::python {
namespace {

py::object npu_dynamic_block_mx_quant(py::handle result_type, py::handle input,
                                      py::handle round_mode, py::handle dst_type,
                                      py::handle scale_alg, py::handle dst_type_max, py::handle out,
                                      py::handle numerics) {
  DynamicBlockMxQuant op;
  return run(op, {input}, {out, numerics, result_type},
             [&] { read_mx_attributes(op, round_mode, dst_type, scale_alg, dst_type_max); });
}

}  // namespace

void bind_dynamic_block_mx_quant(py::module_& module) {
  define<&npu_dynamic_block_mx_quant>(
      module, "npu_dynamic_block_mx_quant",
      "npu_dynamic_block_mx_quant($module, result_type, input, round_mode, dst_type, scale_alg, "
      "dst_type_max, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
