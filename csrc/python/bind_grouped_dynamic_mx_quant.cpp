#include "ops/grouped_dynamic_mx_quant.h"
#include "python/bind.h"
#include "python/mx_attributes.h"

namespace npu_quant::python {
namespace {

py::object npu_grouped_dynamic_mx_quant(py::handle result_type, py::handle x,
                                        py::handle group_index, py::handle round_mode,
                                        py::handle dst_type, py::handle blocksize,
                                        py::handle scale_alg, py::handle dst_type_max,
                                        py::handle out, py::handle numerics) {
  GroupedDynamicMxQuant op;
  return run(op, {x, group_index}, {out, numerics, result_type}, [&] {
    read_mx_attributes(op, round_mode, dst_type, scale_alg, dst_type_max);
    op.block_size = to_int(op.name, "blocksize", blocksize);
  });
}

}  // namespace

void bind_grouped_dynamic_mx_quant(py::module_& module) {
  define<&npu_grouped_dynamic_mx_quant>(
      module, "npu_grouped_dynamic_mx_quant",
      "npu_grouped_dynamic_mx_quant($module, result_type, x, group_index, round_mode, dst_type, "
      "blocksize, scale_alg, dst_type_max, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
