#include "ops/grouped_dynamic_block_quant.h"
#include "python/bind.h"
#include "python/block_attributes.h"

namespace npu_quant::python {
namespace {

py::object npu_grouped_dynamic_block_quant(py::handle result_type, py::handle x,
                                           py::handle group_list, py::handle min_scale,
                                           py::handle round_mode, py::handle dst_type,
                                           py::handle row_block_size, py::handle col_block_size,
                                           py::handle group_list_type, py::handle dst_type_max,
                                           py::handle out, py::handle numerics) {
  GroupedDynamicBlockQuant op;
  return run(op, {x, group_list}, {out, numerics, result_type}, [&] {
    read_block_attributes(op, min_scale, round_mode, dst_type, row_block_size, col_block_size);
    op.group_list_type = to_int(op.name, "group_list_type", group_list_type);
    op.dst_type_max = to_double(op.name, "dst_type_max", dst_type_max);
  });
}

}  // namespace

void bind_grouped_dynamic_block_quant(py::module_& module) {
  define<&npu_grouped_dynamic_block_quant>(
      module, "npu_grouped_dynamic_block_quant",
      "npu_grouped_dynamic_block_quant($module, result_type, x, group_list, min_scale, round_mode, "
      "dst_type, row_block_size, col_block_size, group_list_type, dst_type_max, out, numerics, "
      "/)\n--\n\n");
}

}  // namespace npu_quant::python
