#include "ops/split/grouped_products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/split/product_matrices.h"
#include "ops/split/row_groups.h"

namespace npu_quant {
namespace {

constexpr int64_t kItem = sizeof(float);

// Without its first axis, of which one place is left.
TensorView at_first_axis(TensorView view, int64_t place) {
  view.data += place * view.strides[0];
  view.rank = --view.shape.rank;
  for (int axis = 0; axis < view.rank; ++axis) {
    view.shape.dims[axis] = view.shape.dims[axis + 1];
    view.strides[axis] = view.strides[axis + 1];
  }
  return view;
}

}  // namespace

Status take_product_groups(const char* op, TensorView list, int64_t type, const char* x_name,
                           int64_t rows, int64_t weights, std::vector<ProductGroup>& groups) {
  const int64_t count = list.shape.dims[0];
  std::vector<char> taken(static_cast<size_t>(weights));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t weight = type == 2 ? integer_at(list.data + i * list.strides[0], list.dtype) : i;
    const bool is_there = weight >= 0 && weight < weights;
    if (!is_there || std::exchange(taken[static_cast<size_t>(weight)], 1) != 0)
      return fault(op, Fault::attribute, {Argument("group_list"), "[", i, ", 0]"}, {"is ", weight},
                   {"expected 0 to ", weights - 1, ", each weight only once"});
    groups.push_back({0, 0, weight});
  }
  if (type == 2) {
    list.rank = list.shape.rank = 1;
    list.data += list.strides[1];
  }
  RowGroups ends;
  NPU_QUANT_RETURN_IF_ERROR(ends.assign(
      op, "group_list", list, x_name, rows,
      type == 0 ? RowGroups::Holds::ends : RowGroups::Holds::counts, RowGroups::Of::first_rows));
  for (int64_t i = 0; i < count; ++i) {
    groups[static_cast<size_t>(i)].begin = ends.begin_of(i);
    groups[static_cast<size_t>(i)].end = ends.end_of(i);
  }
  return {};
}

Status check_product_groups(const char* op, const TensorView& list, int64_t type,
                            const char* x_name, const std::vector<int64_t>& ends) {
  std::vector<ProductGroup> groups;
  NPU_QUANT_RETURN_IF_ERROR(take_product_groups(op, list, type, x_name, ends.back(),
                                                static_cast<int64_t>(ends.size()) - 1, groups));
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto [begin, end, weight] = groups[i];
    const auto own = static_cast<size_t>(weight);
    if (begin == ends[own] && end == ends[own + 1]) continue;
    return fault(op, Fault::attribute, {Argument("group_list"), "[", i, "]"},
                 {"covers rows ", begin, " to ", end},
                 {"expected ", ends[own], " to ", ends[own + 1], ", the rows of ", Argument(x_name),
                  "[", weight, "]"});
  }
  if (groups.back().end == ends.back()) return {};
  return fault(op, Fault::attribute, {Argument("group_list")},
               {"covers ", groups.back().end, " rows"},
               {"expected ", ends.back(), ", the rows of all arrays in ", Argument(x_name)});
}

TensorView between(TensorView view, int axis, int64_t begin, int64_t end) {
  view.data += begin * view.strides[axis];
  view.shape.dims[axis] = end - begin;
  return view;
}

Status GroupedProducts::assign(Parameter& parameter, const TensorView& view) const {
  if (!view.present) return {};
  return parameter.assign(call_.op, view, view.shape, view.strides);
}

Status GroupedProducts::prepare() {
  NPU_QUANT_RETURN_IF_ERROR(assign(biases_, taken_as_bytes(*call_.bias)));
  NPU_QUANT_RETURN_IF_ERROR(assign(antiquant_scales_, *call_.antiquant_scale));
  NPU_QUANT_RETURN_IF_ERROR(assign(antiquant_offsets_, *call_.antiquant_offset));
  if (call_.sums == SumForm::blocks) return {};  // whose scales are bytes
  NPU_QUANT_RETURN_IF_ERROR(assign(scales_, scales_in_carriers(*call_.scale)));
  if (call_.carries_offsets)
    NPU_QUANT_RETURN_IF_ERROR(
        offsets_.assign_offsets_in_carriers(call_.op, *call_.scale, call_.scale->shape.size()));
  return assign(tokens_, *call_.per_token_scale);
}

// The parameters of one of the weights, a row of columns for each group of k.
Strided GroupedProducts::rows_of_weight(const Parameter& of, const TensorView& view,
                                        int64_t weight) const {
  if (!view.present || of.data() == nullptr) return {};
  const int64_t columns = call_.matrix.n * kItem;
  return {.data = of.data() + weight * groups_in(view) * columns,
          .row_stride = columns,
          .stride = kItem};
}

// How many rows of them a weight has, and how many k share one.
int64_t GroupedProducts::groups_in(const TensorView& view) const {
  const int axis = call_.weight.rank - 2;
  return view.rank > axis + 1 ? view.shape.dims[axis] : 1;
}
int64_t GroupedProducts::group_of(const TensorView& view) const {
  return std::max<int64_t>(call_.k / groups_in(view), 1);
}

// What is computed with one of the weights; of rows, from the first on.
ProductKernel::Args GroupedProducts::of_weight(int64_t weight) const {
  const bool is_stack = call_.weight.rank == 3;
  ProductKernel::Args args{};
  args.columns = call_.matrix.n;
  args.depth = call_.k;
  args.x = rows_of(call_.x, call_.x_codes);
  args.weight =
      columns_of(is_stack ? at_first_axis(call_.weight, weight) : call_.weight, call_.matrix);
  args.sums = call_.sums;
  args.centred = call_.centred;
  args.activation = call_.activation;
  const auto of_columns = [&](const Parameter& of, const TensorView& view) {
    Strided strided = rows_of_weight(of, view, weight);
    strided.row_stride = 0;
    return strided;
  };
  if (bias_kind(*call_.bias) == Bias::integer)
    args.integer_bias = of_columns(biases_, *call_.bias).data;
  else
    args.bias = of_columns(biases_, *call_.bias);
  if (call_.sums == SumForm::groups) {
    args.group = group_of(*call_.scale);
    args.group_scale = rows_of_weight(scales_, *call_.scale, weight);
  } else if (call_.sums == SumForm::exact) {
    args.scales[0] = of_columns(scales_, *call_.scale);
    args.late_offset = of_columns(offsets_, *call_.scale);
  }
  if (call_.antiquant_scale->present) {
    args.weight_group = group_of(*call_.antiquant_scale);
    args.weight_scale = rows_of_weight(antiquant_scales_, *call_.antiquant_scale, weight);
    args.weight_offset = rows_of_weight(antiquant_offsets_, *call_.antiquant_offset, weight);
  }
  take_block_scales(args, weight);
  if (tokens_.data() != nullptr)
    (call_.late_tokens ? args.late_scale : args.scales[1]) = per_row(tokens_);
  return args;
}

// Bytes of pairs of blocks: of columns (pair, column, 2), of rows of x (row, pair, 2).
void GroupedProducts::take_block_scales(ProductKernel::Args& args, int64_t weight) const {
  if (call_.sums != SumForm::blocks) return;
  args.x_scale = powers_of_rows(*call_.per_token_scale);
  args.block_scale = powers_of_columns(*call_.scale);
  if (call_.weight.rank == 3) args.block_scale.data += weight * call_.scale->strides[0];
}

// Has what there is of rows begin at another one.
void GroupedProducts::take_rows(ProductKernel::Args& args, int64_t row) const {
  args.x.data += row * call_.x.strides[0];
  if (args.x_scale.data != nullptr) args.x_scale.data += row * args.x_scale.row_stride;
  for (Strided* of : {&args.scales[1], &args.late_scale}) *of = of->from(row, 0);
}

void GroupedProducts::add(const TensorView& y, ProductList& list) const {
  if (call_.groups == nullptr) return list.add(of_weight(0), call_.x, y);
  int64_t done = 0;
  for (const auto& [begin, end, weight] : *call_.groups) {
    ProductKernel::Args args = of_weight(weight);
    if (call_.splits_k) {
      args.depth = end - begin;
      args.x.data += begin * call_.x.strides[1];
      args.weight.data += begin * call_.weight.strides[0];
      list.add(args, call_.x, at_first_axis(y, done++));
      continue;
    }
    take_rows(args, begin);
    list.add(args, between(call_.x, 0, begin, end), between(y, 0, begin, end));
    done = end;
  }
  if (!call_.splits_k) add_zeros(between(y, 0, done, y.shape.dims[0]), list);
}

// What has no k is 0.
void GroupedProducts::add_zeros(const TensorView& y, ProductList& list) const {
  ProductKernel::Args nothing{};
  const ProductKernel::Args first = of_weight(0);
  nothing.columns = first.columns;
  nothing.x = first.x;
  nothing.weight = first.weight;
  nothing.sums = first.sums;
  nothing.group = nothing.weight_group = 1;
  list.add(nothing, between(call_.x, 0, 0, y.shape.dims[0]), y);
}

}  // namespace npu_quant
