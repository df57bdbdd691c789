// The attributes that the operators on blocks of a matrix have before others.
#pragma once

#include "ops/block_quant.h"
#include "python/arguments.h"

namespace npu_quant::python {

inline void read_block_attributes(BlockQuant& op, py::handle min_scale, py::handle round_mode,
                                  py::handle dst_type, py::handle row_block_size,
                                  py::handle col_block_size) {
  op.min_scale = to_double(op.name, "min_scale", min_scale);
  op.round_mode = to_string(op.name, "round_mode", round_mode);
  op.dst_type = to_dtype(op.name, "dst_type", dst_type);
  op.row_block_size = to_int(op.name, "row_block_size", row_block_size);
  op.col_block_size = to_int(op.name, "col_block_size", col_block_size);
}

}  // namespace npu_quant::python
