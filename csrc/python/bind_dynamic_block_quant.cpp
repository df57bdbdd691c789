#include "ops/dynamic_block_quant.h"
#include "python/bind.h"
#include "python/block_attributes.h"

namespace npu_quant::python {

template <>
inline constexpr Code kParamCode<DynamicBlockQuant> = Code::tiling_error;

namespace {

py::object npu_dynamic_block_quant(py::handle result_type, py::handle x, py::handle min_scale,
                                   py::handle round_mode, py::handle dst_type,
                                   py::handle row_block_size, py::handle col_block_size,
                                   py::handle dst_type_max, py::handle out, py::handle numerics) {
  DynamicBlockQuant op;
  return run(op, {x}, {out, numerics, result_type}, [&] {
    read_block_attributes(op, min_scale, round_mode, dst_type, row_block_size, col_block_size);
    op.dst_type_max = to_double(op.name, "dst_type_max", dst_type_max);
  });
}

}  // namespace

void bind_dynamic_block_quant(py::module_& module) {
  define<&npu_dynamic_block_quant>(module, "npu_dynamic_block_quant",
                                   "npu_dynamic_block_quant($module, result_type, x, min_scale, "
                                   "round_mode, dst_type, row_block_size, "
                                   "col_block_size, dst_type_max, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
