// The attributes that all operators on MX blocks have.
#pragma once

#include "ops/mx_quant.h"
#include "python/arguments.h"

namespace npu_quant::python {

inline void read_mx_attributes(MxQuant& op, py::handle round_mode, py::handle dst_type,
                               py::handle scale_alg, py::handle dst_type_max) {
  op.round_mode = to_string(op.name, "round_mode", round_mode);
  op.dst_type = to_dtype(op.name, "dst_type", dst_type);
  if (!scale_alg.is_none()) op.scale_alg = to_int(op.name, "scale_alg", scale_alg);
  if (!dst_type_max.is_none()) op.dst_type_max = to_double(op.name, "dst_type_max", dst_type_max);
}

}  // namespace npu_quant::python
