#include "ops/compare.h"
#include "python/bind.h"
#include "python/released.h"

namespace npu_quant::python {
namespace {

py::object compare(py::handle actual, py::handle golden, py::handle is_nan, py::handle first,
                   py::handle columns, py::handle row_counts, py::handle row_shift,
                   py::handle column_counts, py::handle column_shift, py::handle counts,
                   py::handle sums) {
  Compare op;
  ArrayArguments arrays(op.kName, op.inputs(),
                        {actual, golden, is_nan, row_counts, column_counts, counts, sums});
  op.first = to_int(op.kName, "first", first);
  op.columns = to_int(op.kName, "columns", columns);
  op.row_shift = to_int(op.kName, "row_shift", row_shift);
  op.column_shift = to_int(op.kName, "column_shift", column_shift);
  arrays.fill_views();
  raise_unless_ok(op.check());
  raise_unless_ok(run_released(op.bytes(), [&] { return op.run(); }));
  return py::none();
}

}  // namespace

void bind_compare(py::module_& module) {
  define<&compare>(module, "compare",
                   "compare($module, actual, golden, is_nan, first, columns, row_counts, "
                   "row_shift, column_counts, column_shift, counts, sums, /)\n--\n\n");
}

}  // namespace npu_quant::python
