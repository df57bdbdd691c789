#include "ops/grouped_matmul_swiglu_quant.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "ops/split/glu_rows.h"
#include "ops/split/product_list.h"
#include "ops/split/product_matrices.h"

namespace npu_quant {
namespace {

constexpr int64_t kItem = sizeof(float);

TensorView some_rows(TensorView view, int64_t first, int64_t count) {
  if (!view.present) return view;
  view.data += first * view.strides[0];
  view.shape.dims[0] = count;
  return view;
}

// The products of rows with the matrix of their expert, and what these become: some rows at a time.
class ExpertRows {
 public:
  ExpertRows(const GroupedMatmulSwigluQuant& op, const CodeMatrix& matrix, const RowGroups& groups)
      : op_(op), matrix_(matrix), groups_(groups) {}

  Status take_parameters() {
    const TensorView scales = scales_in_carriers(op_.weight_scale);
    NPU_QUANT_RETURN_IF_ERROR(weight_scale_.assign(op_.name, scales, scales.shape, scales.strides));
    NPU_QUANT_RETURN_IF_ERROR(x_scale_.assign(op_.name, op_.x_scale, op_.x_scale.shape.dims[0]));
    if (!op_.bias.present) return {};
    return bias_.assign(op_.name, op_.bias, op_.bias.shape, op_.bias.strides);
  }

  Status run(const TensorView& y, const TensorView& scale) {
    const int64_t all = op_.x.shape.dims[0], last = groups_.end_of(groups_.count() - 1);
    const int64_t rows = std::min(last, rows_at_a_time());
    std::unique_ptr<float[]> memory(
        new (std::nothrow) float[static_cast<size_t>(std::max<int64_t>(rows * matrix_.n, 1))]);
    if (memory == nullptr) return out_of_memory(op_.name);
    TensorView c = contiguous_view(memory.get(), DType::float32, matrix_.n);
    c.rank = c.shape.rank = 2;
    c.shape.dims[1] = matrix_.n;
    c.strides[0] = matrix_.n * kItem;
    c.strides[1] = kItem;
    for (int64_t row = 0, count; row < last; row += count) {
      count = std::min(rows, last - row);
      c.shape.dims[0] = count;
      NPU_QUANT_RETURN_IF_ERROR(multiply(row, c));
      NPU_QUANT_RETURN_IF_ERROR(quantize(GluKernel::Becomes::codes_by_amax, c,
                                         some_rows(y, row, count), some_rows(scale, row, count)));
    }
    if (last == all) return {};
    c.shape.dims[0] = all - last;
    return quantize(GluKernel::Becomes::zeros, c, some_rows(y, last, all - last),
                    some_rows(scale, last, all - last));
  }

 private:
  // So many that threads find work, of which c stays in the caches; packing an expert's matrix
  // takes as long as multiplying it with a few rows.
  int64_t rows_at_a_time() const {
    constexpr int64_t kBytes = 8 << 20;
    return std::max(ProductKernel::kMostRows, kBytes / (std::max<int64_t>(matrix_.n, 1) * kItem));
  }

  Status multiply(int64_t first, const TensorView& c) const {
    return run_product_list(op_.name, [&](ProductList& list) {
      const int64_t last = first + c.shape.dims[0];
      for (int64_t row = first, end; row < last; row = end) {
        const int64_t expert = groups_.group_of(row);
        end = std::min(last, groups_.end_of(expert));
        const TensorView own = some_rows(op_.x, row, end - row);
        list.add(product(expert, row, own), own, some_rows(c, row - first, end - row));
      }
    });
  }

  // Of rows from one on, which is what x begins with.
  ProductKernel::Args product(int64_t expert, int64_t row, const TensorView& x) const {
    TensorView weight = op_.weight;
    weight.data += expert * weight.strides[0];
    ProductKernel::Args args{};
    args.columns = matrix_.n;
    args.depth = matrix_.k;
    args.x = rows_of(x, Format::int8);
    args.weight = columns_of(weight, matrix_);
    const Strided of_rows = per_row(x_scale_).from(row, 0);
    if (matrix_.codes == Format::int8) {
      args.sums = SumForm::exact;
      args.scales[0] = of_rows;
      args.scales[1] = per_column(weight_scale_).from(0, expert * matrix_.n);
      return args;
    }
    const int64_t groups = op_.weight_scale.rank == 3 ? op_.weight_scale.shape.dims[1] : 1;
    args.sums = SumForm::groups;
    args.centred = true;
    args.group = std::max<int64_t>(matrix_.k / groups, 1);
    args.group_scale = per_column(weight_scale_).from(0, expert * groups * matrix_.n);
    args.group_scale.row_stride = matrix_.n * kItem;
    args.bias = per_column(bias_).from(0, expert * matrix_.n);
    args.late_scale = of_rows;
    return args;
  }

  Status quantize(GluKernel::Becomes becomes, const TensorView& c, const TensorView& y,
                  const TensorView& scale) const {
    GluKernel::Args how{};
    how.alpha = 1;
    how.becomes = becomes;
    how.codes = Format::int8;
    how.divide = true;
    return run_glu({.op = op_, .x = c, .gate_first = true, .how = how, .y = y, .scales = scale});
  }

  const GroupedMatmulSwigluQuant& op_;
  const CodeMatrix& matrix_;
  const RowGroups& groups_;
  Parameter weight_scale_, x_scale_, bias_;
};

}  // namespace

Inputs GroupedMatmulSwigluQuant::inputs() {
  static constexpr DType kX[] = {DType::int8}, kWeights[] = {DType::int8, DType::int32},
                         kEnds[] = {DType::int64}, kScales[] = {DType::float32, DType::int64};
  static constexpr char kOfExperts[] = "It holds a matrix for each group.",
                        kOfColumns[] = "It holds a row for each group.";
  static constexpr Takes of_x = one_of(kX).ranks(2, 2),
                         of_weight = one_of(kWeights).ranks(3, 3, kOfExperts),
                         of_tensor = Takes{}.ranks(3, 3);  // an aclTensor's of int4
  static constexpr Takes
      of_ends = one_of(kEnds).made_of(DType::int64).ranks(1, 1, "It holds the end of each group."),
      of_scale = one_of(kFloat32).made_of(DType::float32).ranks(2, 2, kOfColumns),
      of_scales = one_of(kScales).made_of(DType::float32).ranks(2, 3, kOfColumns),
      of_rows =
          one_of(kFloat32).made_of(DType::float32).ranks(1, 1, "It holds one element per row.");
  return Inputs::of(required("x", x, of_x),
                    required("weight", weight, weight.dtype == DType::int4 ? of_tensor : of_weight),
                    required("group_list", group_list, of_ends),
                    required("weight_scale", weight_scale, is_int4() ? of_scales : of_scale),
                    required("x_scale", x_scale, of_rows), optional("bias", bias, of_scale),
                    optional("offset", offset));
}

// A weight of int4 needs a bias.
Status GroupedMatmulSwigluQuant::check_dtypes(const npu_quant::Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_dtypes(given));
  if (!is_int4() || bias.present) return {};
  return fault(name, Fault::dtype, {Argument("bias")}, {"is ", Nothing()},
               {"expected ", DType::float32, ", as ", Argument("weight"), " is ", DTypeOf(weight)});
}

void GroupedMatmulSwigluQuant::plan_outputs() {
  const Format codes = is_int4() ? Format::int4 : Format::int8;
  // Judged with the shapes.
  find_code_matrix(name, "weight", weight, codes, x.shape.dims[1], "x", matrix_);
  Shape of_y = x.shape;
  of_y.dims[1] = matrix_.n / 2;
  if (!check_product_size(name, "x", x, matrix_.n).ok()) of_y = {};
  outputs.assign(OutputSpec{"y", DType::int8, of_y},
                 OutputSpec{"scale", DType::float32, {1, {rows()}}},
                 OutputSpec{"offset", DType::float32, {}});
}

// Arguments that have no meaning here.
Status GroupedMatmulSwigluQuant::check_attributes() {
  if (bias.present && !is_int4())
    return fault(name, Fault::attribute, {Argument("bias")}, {"is given"},
                 {"expected ", Nothing(), ": ", Argument("weight"), " is ", DTypeOf(weight)});
  if (!offset.present) return {};
  return fault(name, Fault::attribute, {Argument("offset")}, {"is given"},
               {"expected ", Nothing()});
}

Status GroupedMatmulSwigluQuant::take_rule() {
  rule = reference_rule(Format::int8);
  return Op::take_rule();
}

Status GroupedMatmulSwigluQuant::check_shapes() {
  CodeMatrix matrix;
  NPU_QUANT_RETURN_IF_ERROR(
      find_code_matrix(name, "weight", weight, matrix_.codes, x.shape.dims[1], "x", matrix));
  if (matrix_.n % 2 != 0)
    return wrong_shape(name, "weight", weight,
                       "expected an even number of columns, of which halves are multiplied");
  NPU_QUANT_RETURN_IF_ERROR(check_product_size(name, "x", x, matrix_.n));
  NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_list", group_list));
  const Shape each{1, {experts()}}, of_rows{1, {rows()}}, of_columns{2, {experts(), matrix_.n}};
  if (group_list.shape != each)
    return wrong_shape(name, "group_list", group_list,
                       {"expected ", each, ": an end for each matrix of ", Argument("weight")});
  NPU_QUANT_RETURN_IF_ERROR(check_weight_scale());
  if (x_scale.shape != of_rows)
    return wrong_shape(name, "x_scale", x_scale,
                       {"expected ", of_rows, ": an element for each row of ", Argument("x")});
  if (!bias.present || bias.shape == of_columns) return {};
  return wrong_shape(name, "bias", bias,
                     {"expected ", of_columns, ": an element for each column of each matrix"});
}

Status GroupedMatmulSwigluQuant::check_weight_scale() const {
  const Shape& shape = weight_scale.shape;
  const int64_t last = weight_scale.rank - 1;
  const bool has_groups = last == 2, is_of_columns = shape.dims[last] == matrix_.n;
  const bool is_cut = !has_groups || (shape.dims[1] > 0 && matrix_.k % shape.dims[1] == 0);
  if (shape.dims[0] == experts() && is_of_columns && is_cut) return {};
  Text allowed{"expected ", Shape{2, {experts(), matrix_.n}}};
  if (is_int4())
    allowed += {" or (",
                experts(),
                ", G, ",
                matrix_.n,
                "), of G groups that ",
                matrix_.k,
                " rows can be cut into"};
  return wrong_shape(name, "weight_scale", weight_scale, allowed);
}

Status GroupedMatmulSwigluQuant::take_groups(RowGroups& groups) const {
  return groups.assign(name, "group_list", group_list, "x", rows(), RowGroups::Holds::ends,
                       RowGroups::Of::first_rows);
}

Status GroupedMatmulSwigluQuant::check_elements() const {
  RowGroups groups;
  return take_groups(groups);
}

Status GroupedMatmulSwigluQuant::run(const TensorView* out) const {
  RowGroups groups;
  NPU_QUANT_RETURN_IF_ERROR(take_groups(groups));
  if (out[kY].present || out[kScale].present) {
    ExpertRows all(*this, matrix_, groups);
    NPU_QUANT_RETURN_IF_ERROR(all.take_parameters());
    NPU_QUANT_RETURN_IF_ERROR(all.run(out[kY], out[kScale]));
  }
  if (out[kOffset].present) std::memset(out[kOffset].data, 0, sizeof(float));
  return {};
}

}  // namespace npu_quant
