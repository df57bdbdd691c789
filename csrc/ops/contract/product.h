// What operators that multiply matrices of codes check alike.
#pragma once

#include "ops/contract/contract.h"

namespace npu_quant {

// The second factor, the last two axes of an array, by which rows of k codes become rows of n sums.
struct CodeMatrix {
  Format codes = Format::other;
  int64_t k = 0, n = 0;
  // Whether codes that share an element of the array follow on each other along k, else along n.
  bool packed_along_k = false;
};

// Of an array (..., k, n). Of codes that share its elements the axis that is packed is the one that
// makes the other axis fit: (..., k, n / 8) or (..., k / 8, n) of int4.
Status find_code_matrix(const char* op, const char* argument, const TensorView& view, Format codes,
                        int64_t k, const NamedView& x, CodeMatrix& found);

// The shape of a product of matrices, the last two axes of each: those before them broadcast.
Shape product_shape(const TensorView& a, const TensorView& b, int64_t columns);
Status check_batches(const char* op, const char* a_name, const TensorView& a, const char* b_name,
                     const TensorView& b);

// Bytes of E8M0 for the blocks along k of a matrix, whose axis that is; a pair of them shares an
// axis behind the others.
inline constexpr int64_t kProductBlock = 32;
Status check_block_scales(const char* op, const char* argument, const TensorView& view,
                          Shape matrix, int axis, const NamedView& of);

// An element for each of the n columns of a product with a weight, or one for all where that is
// allowed.
Status check_along_columns(const char* op, const char* argument, const TensorView& view,
                           const NamedView& weight, int64_t n, bool or_one);

// An element for each row of x: an array of that shape.
Status check_along_rows(const char* op, const char* argument, const TensorView& view,
                        const NamedView& x, const Shape& rows);

// As check_along_columns(), of rank 1, or with an axis of 1 in front, always or one for all.
Status check_row_of_columns(const char* op, const char* argument, const TensorView& view,
                            const NamedView& weight, int64_t n);

// That the product of x with a weight of n columns is no larger than an array can be.
Status check_product_size(const char* op, const NamedView& x, const NamedView& weight, int64_t n);

// A row of scales for each matrix of a weight (E, k, n), or for each of the groups that its k are
// cut into, where that is allowed.
Status check_expert_scales(const char* op, const TensorView& weight_scale, const TensorView& weight,
                           const CodeMatrix& matrix, bool or_groups);

}  // namespace npu_quant
