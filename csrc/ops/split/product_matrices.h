// Where the operands of products lie: from a contract's views to what the engine takes.
#pragma once

#include "ops/contract/product.h"
#include "ops/split/parameter.h"
#include "ops/split/product.h"

namespace npu_quant {

// Of the codes in an array's elements, or in the bytes of a tensor that counts codes.
inline int64_t codes_together(Format codes, DType array) {
  return format_of(array) == codes && is_packed(codes) ? 2 : codes_per_element(codes, array);
}

// The first factor, the last two axes of x; `packed_across` where codes that share an element
// follow on each other from row to row.
inline ProductKernel::Matrix rows_of(const TensorView& x, Format codes,
                                     bool packed_across = false) {
  const int64_t together = codes_together(codes, x.dtype);
  return {.format = codes,
          .data = x.data,
          .row_stride = x.strides[x.rank - 2],
          .stride = x.strides[x.rank - 1],
          .item = size_of(x.dtype),
          .along_k = packed_across ? 1 : together,
          .across = packed_across ? together : 1};
}

// The second one, whose columns are the engine's rows.
inline ProductKernel::Matrix columns_of(const TensorView& weight, const CodeMatrix& matrix) {
  ProductKernel::Matrix of = rows_of(weight, matrix.codes, !matrix.packed_along_k);
  std::swap(of.row_stride, of.stride);
  return of;
}

// Bytes of E8M0 for the blocks of rows, the last axes (row, pair, 2); or of columns, (pair, column,
// 2). They begin at the first batch, or matrix.
inline ProductKernel::BlockScales powers_of_rows(const TensorView& view) {
  const int64_t* const strides = view.strides + view.rank - 3;
  return {view.data, strides[0], strides[1], strides[2]};
}
inline ProductKernel::BlockScales powers_of_columns(const TensorView& view) {
  ProductKernel::BlockScales of = powers_of_rows(view);
  std::swap(of.row_stride, of.stride);
  return of;
}

// A parameter with an element for each column, or one for all; or for each row.
inline Strided per_column(const Parameter& of, bool one_for_all = false) {
  return {.data = of.data(), .stride = one_for_all ? 0 : int64_t{sizeof(float)}};
}
inline Strided per_row(const Parameter& of) {
  return {.data = of.data(), .row_stride = sizeof(float)};
}

}  // namespace npu_quant
