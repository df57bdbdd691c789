// The products of groups of rows, each with a weight and parameters of its own.
#pragma once

#include <vector>

#include "ops/contract/product.h"
#include "ops/split/parameter.h"
#include "ops/split/product_list.h"

namespace npu_quant {

// Rows of x, or columns of it where these are split, and the weight they are for.
struct ProductGroup {
  int64_t begin, end, weight;
};

// The groups that "group_list" says, of so many rows and weights: it holds ends (type 0), counts
// (1), or the weight and the count of each group (2).
Status take_product_groups(const char* op, TensorView list, int64_t type, const char* x_name,
                           int64_t rows, int64_t weights, std::vector<ProductGroup>& groups);

// That groups are the rows of one array after the other, each for a weight: `ends` begins with 0,
// and has the row behind each array.
Status check_product_groups(const char* op, const TensorView& list, int64_t type,
                            const char* x_name, const std::vector<int64_t>& ends);

// A call: the caller's arrays, absent where they are not given. Parameters have values for each
// weight of a stack.
struct GroupedCall {
  const char* op;
  const TensorView &x, &weight;
  CodeMatrix matrix;  // weight
  Format x_codes;
  int64_t k;
  SumForm sums;
  bool centred = false;      // sums are of x - 8
  bool splits_k = false;     // groups are of columns of x: y has a matrix for each
  bool late_tokens = false;  // a row's scale comes behind the bias
  Activation activation = Activation::none;
  const TensorView *bias = &kAbsent, *scale = &kAbsent, *antiquant_scale = &kAbsent,
                   *antiquant_offset = &kAbsent, *per_token_scale = &kAbsent;
  bool carries_offsets = false;                       // of int8 results, in the words of scale
  const std::vector<ProductGroup>* groups = nullptr;  // all rows are one where there are none
};

class [[gnu::visibility("hidden")]] GroupedProducts {
 public:
  explicit GroupedProducts(const GroupedCall& call) : call_(call) {}

  Status prepare();  // the parameters, before anything is written
  // Rows of y behind the last group are zeros. The list is run while this is there.
  void add(const TensorView& y, ProductList& list) const;
  void add_zeros(const TensorView& y, ProductList& list) const;

 private:
  ProductKernel::Args of_weight(int64_t weight) const;
  Strided rows_of_weight(const Parameter& of, const TensorView& view, int64_t weight) const;
  int64_t groups_in(const TensorView& view) const;
  int64_t group_of(const TensorView& view) const;
  void take_rows(ProductKernel::Args& args, int64_t row) const;
  void take_block_scales(ProductKernel::Args& args, int64_t weight) const;
  Status assign(Parameter& parameter, const TensorView& view) const;

  const GroupedCall call_;
  Parameter biases_, scales_, offsets_, antiquant_scales_, antiquant_offsets_, tokens_;
};

// Some places along an axis of a view.
TensorView between(TensorView view, int axis, int64_t begin, int64_t end);

}  // namespace npu_quant
