#include "ops/convert_weight_to_int4pack.h"
#include "python/bind.h"

namespace npu_quant::python {
namespace {

py::object npu_convert_weight_to_int4pack(py::handle weight, py::handle inner_k_tiles,
                                          py::handle out, py::handle numerics) {
  ConvertWeightToInt4pack op;
  return run(op, {weight}, {out, numerics},
             [&] { op.inner_k_tiles = to_int(op.name, "inner_k_tiles", inner_k_tiles); });
}

}  // namespace

void bind_convert_weight_to_int4pack(py::module_& module) {
  define<&npu_convert_weight_to_int4pack>(module, "npu_convert_weight_to_int4pack",
                                          "npu_convert_weight_to_int4pack($module, weight, "
                                          "inner_k_tiles, out, numerics, /)\n--\n\n");
}

}  // namespace npu_quant::python
