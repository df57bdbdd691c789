#include "ops/contract/product.h"

#include <algorithm>

#include "core/ceil_div.h"

namespace npu_quant {

Status find_code_matrix(const char* op, const char* argument, const TensorView& view, Format codes,
                        int64_t k, const NamedView& x, CodeMatrix& found) {
  const int64_t together = codes_per_element(codes, view.dtype);
  const int64_t rows = view.shape.dims[view.rank - 2], columns = view.shape.dims[view.rank - 1];
  found = {.codes = codes, .k = k, .n = columns};
  if (rows == k) return found.n *= together, Status{};
  found.packed_along_k = true;
  if (together > 1 && rows * together == k) return {};
  Text allowed{"expected length ", k};
  if (together > 1 && k % together == 0) allowed += {" (or ", k / together, " if it is packed)"};
  allowed += {" along axis -2: "};
  return wrong_shape(op, argument, view, allowed + with_shape(x) + Text{" has ", k, " columns"});
}

Shape product_shape(const TensorView& a, const TensorView& b, int64_t columns) {
  Shape shape{std::max(a.rank, b.rank), {}};
  for (int axis = 0; axis < shape.rank - 2; ++axis) {
    const int of_a = axis - shape.rank + a.rank, of_b = axis - shape.rank + b.rank;
    const int64_t first = of_a < 0 ? 1 : a.shape.dims[of_a];
    shape.dims[axis] = first == 1 && of_b >= 0 ? b.shape.dims[of_b] : first;
  }
  shape.dims[shape.rank - 2] = a.shape.dims[a.rank - 2];
  shape.dims[shape.rank - 1] = columns;
  return shape;
}

Status check_batches(const char* op, const char* a_name, const TensorView& a, const char* b_name,
                     const TensorView& b) {
  for (int axis = 3; axis <= std::min(a.rank, b.rank); ++axis) {
    const int64_t first = a.shape.dims[a.rank - axis], second = b.shape.dims[b.rank - axis];
    if (first != second && first != 1 && second != 1)
      return wrong_shape(op, b_name, b,
                         "expected axes before the last two that broadcast with " +
                             with_shape({a_name, a}) + ": equal lengths, or length 1");
  }
  return {};
}

Status check_block_scales(const char* op, const char* argument, const TensorView& view,
                          Shape matrix, int axis, const NamedView& of) {
  if (matrix.rank == kMaxRank)
    return fault(op, Fault::rank, {Argument(argument)}, {"has ", dimensions(view.rank)},
                 {"expected ", Argument(of.name), " to have at most ", dimensions(kMaxRank - 1)});
  matrix.dims[axis] = ceil_div(matrix.dims[axis], 2 * kProductBlock);
  matrix.dims[matrix.rank++] = 2;
  if (view.rank == matrix.rank && view.shape == matrix) return {};
  return wrong_shape(op, argument, view,
                     Text{"expected ", matrix, ": a byte for each block of ", kProductBlock,
                          " along k, in pairs, for "} +
                         with_shape(of));
}

Status check_along_columns(const char* op, const char* argument, const TensorView& view,
                           const NamedView& weight, int64_t n, bool or_one) {
  if (!view.present) return {};
  const bool is_vector = view.rank == 1;
  if (is_vector && (view.shape.dims[0] == n || (or_one && view.shape.dims[0] == 1))) return {};
  Text allowed{"expected (", n, ",)"};
  if (or_one && n != 1) allowed += {" or (1,)"};
  allowed += {": an element for each column of the product with "};
  allowed += with_shape(weight);
  if (or_one) allowed += {", or one for all"};
  return wrong_shape(op, argument, view, allowed);
}

Status check_along_rows(const char* op, const char* argument, const TensorView& view,
                        const NamedView& x, const Shape& rows) {
  if (!view.present || (view.rank == rows.rank && view.shape == rows)) return {};
  return wrong_shape(op, argument, view,
                     Text{"expected ", rows, ": an element for each row of "} + with_shape(x));
}

Status check_row_of_columns(const char* op, const char* argument, const TensorView& view,
                            const NamedView& weight, int64_t n) {
  if (!view.present) return {};
  const int64_t length = view.shape.size();
  const bool is_row = view.rank == 1 || (view.rank == 2 && view.shape.dims[0] == 1);
  if (is_row && (length == 1 || length == n)) return {};
  Text allowed = "expected ";
  if (n != 1) allowed += {"(", n, ",), (1, ", n, "), "};
  allowed += {"(1,) or (1, 1): an element for each column of the product with "};
  return wrong_shape(op, argument, view, allowed + with_shape(weight) + ", or one for all");
}

Status check_product_size(const char* op, const NamedView& x, const NamedView& weight, int64_t n) {
  constexpr int64_t kMost = int64_t{1} << 52;
  Shape product = x.view.shape;
  product.dims[product.rank - 1] = n;
  if (product.has_at_most(kMost)) return {};
  return wrong_shape(
      op, x.name, x.view,
      Text{"expected at most ", kMost, " elements in the product with "} + with_shape(weight));
}

Status check_expert_scales(const char* op, const TensorView& weight_scale, const TensorView& weight,
                           const CodeMatrix& matrix, bool or_groups) {
  const int64_t experts = weight.shape.dims[0];
  const Shape& shape = weight_scale.shape;
  const bool has_groups = weight_scale.rank == 3;
  const bool is_cut = !has_groups || (shape.dims[1] > 0 && matrix.k % shape.dims[1] == 0);
  if (shape.dims[0] == experts && shape.dims[weight_scale.rank - 1] == matrix.n && is_cut)
    return {};
  Text allowed{"expected ", Shape{2, {experts, matrix.n}}};
  if (or_groups)
    allowed += {", or (", experts, ", G, ", matrix.n, ") where G divides ", matrix.k, ","};
  return wrong_shape(op, "weight_scale", weight_scale,
                     allowed + " for " + with_shape({"weight", weight}));
}

}  // namespace npu_quant
