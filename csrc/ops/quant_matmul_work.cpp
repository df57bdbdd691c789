// What is computed of npu_quant_matmul.
#include "core/axes.h"
#include "ops/quant_matmul.h"
#include "ops/split/product_matrices.h"

namespace npu_quant {

// The parameters of a call, and what the engine takes of each product: of a batch, or, where all
// have x2 and what goes with it in common, of the rows of as many as strides allow.
class QuantMatmul::Work final : public Products {
 public:
  Work(const QuantMatmul& op, const TensorView& y) : op_(op), y_(y), in_common_(is_in_common()) {
    if (in_common_) join_rows();
  }

  Status prepare();
  int64_t count() const override {
    if (y_.shape.size() == 0) return 0;  // of however many batches
    return in_common_ ? rows_of_all_.count() : batches().size();
  }
  ProductKernel::Args product(int64_t which) const override;

 private:
  enum { kX, kOfY, kPowers, kTensors };

  Shape batches() const {
    Shape batches = y_.shape;
    batches.rank -= 2;
    return batches;
  }
  bool is_in_common() const {
    if (y_.rank == 2 || y_.shape.size() == 0) return false;
    Shape of_x2 = op_.x2.shape;
    of_x2.rank -= 2;
    const bool has_biases = op_.bias.rank == 3 && op_.bias.shape.dims[0] > 1;
    return of_x2.size() == 1 && op_.x1.rank == y_.rank && !op_.x1.is_packed() && !has_biases;
  }
  void join_rows() {
    const bool is_mx = op_.sums() == Sums::mx;
    const int64_t* const of_x1 = op_.x1.strides;
    const int64_t* const of_powers = is_mx ? op_.pertoken_scale.strides : of_x1;
    rows_of_all_ = Axes<kTensors>(y_.shape.dims, y_.rank - 1, {of_x1, y_.strides, of_powers});
    rows_axis_ = rows_of_all_.pop(rows_together_);
  }
  void take_rows(ProductKernel::Args& args, int64_t which) const;

  // Where a batch begins in an array whose last axes, `own` of them, are a batch's.
  char* batch_of(const TensorView& view, int64_t which, int own = 2) const {
    int64_t offset = 0;
    for (int axis = y_.rank - 3; axis >= 0; which /= y_.shape.dims[axis--]) {
      const int of_view = axis + 2 - y_.rank + view.rank - own;
      if (of_view >= 0 && view.shape.dims[of_view] > 1)
        offset += which % y_.shape.dims[axis] * view.strides[of_view];
    }
    return view.data + offset;
  }
  void take_groups(ProductKernel::Args& args) const;
  void take_scales(ProductKernel::Args& args, int64_t which) const;

  const QuantMatmul& op_;
  const TensorView& y_;
  const bool in_common_;
  Axes<kTensors> rows_of_all_;  // of x1, y and the powers of x1's blocks, where x2 is in common
  int64_t rows_together_ = 1;
  int rows_axis_ = -1;
  Parameter scales_, rows_, bias_, offsets_;
};

Status QuantMatmul::Work::prepare() {
  const TensorView scale = scales_in_carriers(op_.scale), &offset = op_.offset, &bias = op_.bias;
  const bool is_mx = op_.sums() == Sums::mx;
  if (!is_mx)
    NPU_QUANT_RETURN_IF_ERROR(scales_.assign(op_.name, scale, scale.shape, scale.strides));
  if (op_.pertoken_scale.present && !is_mx) {
    const Shape rows{2, {in_common_ ? batches().size() : 1, y_.shape.dims[y_.rank - 2]}};
    const int64_t strides[] = {0, op_.pertoken_scale.strides[0]};
    NPU_QUANT_RETURN_IF_ERROR(rows_.assign(op_.name, op_.pertoken_scale, rows, strides));
  }
  if (bias.present) {
    const int64_t batches = bias.rank == 3 ? bias.shape.dims[0] : 1;
    const int64_t strides[] = {batches > 1 ? bias.strides[0] : 0, bias.strides[bias.rank - 1]};
    NPU_QUANT_RETURN_IF_ERROR(
        bias_.assign(op_.name, taken_as_bytes(bias), Shape{2, {batches, op_.matrix_.n}}, strides));
  }
  if (offset.present) return offsets_.assign(op_.name, offset, offset.shape, offset.strides);
  if (op_.scale.dtype != DType::int64) return {};
  return offsets_.assign_offsets_in_carriers(op_.name, op_.scale, op_.scale.shape.size());
}

// In float32, of groups along k.
void QuantMatmul::Work::take_groups(ProductKernel::Args& args) const {
  const auto of_groups = [&](const Parameter& of) -> Strided {
    return {of.data(), op_.matrix_.n * int64_t{sizeof(float)}, sizeof(float)};
  };
  args.sums = SumForm::groups;
  args.group = op_.group_sizes.each[2];
  args.group_scale = of_groups(scales_);
  args.centred = op_.sums() == Sums::shifted_groups;
  if (args.centred) {
    args.bias = per_column(offsets_);
    args.late_scale = per_row(rows_);
    return;
  }
  if (op_.offset.present) args.group_offset = of_groups(offsets_);
  args.scales[0] = per_row(rows_);
}

void QuantMatmul::Work::take_scales(ProductKernel::Args& args, int64_t which) const {
  const Sums made = op_.sums();
  args.sums = made == Sums::whole ? SumForm::exact : SumForm::blocks;
  if (op_.bias.present) {
    const int64_t of_batch = op_.bias.rank == 3 ? which * op_.matrix_.n : 0;
    char* const bias = bias_.data() + of_batch * int64_t{sizeof(float)};
    // The documents add that of float8 before the scales; MX has no others.
    if (op_.bias.dtype == DType::int32)
      args.integer_bias = bias;
    else if (made == Sums::blocks)
      args.sum_bias = bias;
    else
      args.bias = {.data = bias, .stride = sizeof(float)};
  }
  if (made == Sums::mx) {
    args.x_scale = powers_of_rows(op_.pertoken_scale);
    args.x_scale.data = batch_of(op_.pertoken_scale, which, 3);
    args.block_scale = powers_of_columns(op_.scale);
    args.block_scale.data = batch_of(op_.scale, which, 3);
    return;
  }
  args.scales[0] = per_column(scales_, op_.scale.shape.size() == 1);
  if (op_.pertoken_scale.present) args.scales[1] = per_row(rows_);
  if (op_.values() == Format::int8 && (op_.offset.present || op_.scale.dtype == DType::int64))
    args.late_offset =
        per_column(offsets_, (op_.offset.present ? op_.offset : op_.scale).shape.size() == 1);
}

// Of batches that are one product.
void QuantMatmul::Work::take_rows(ProductKernel::Args& args, int64_t which) const {
  int64_t begins[kTensors], strides[kTensors];
  rows_of_all_.find_offsets(which, begins);
  for (int t = 0; t < kTensors; ++t)
    strides[t] = rows_axis_ < 0 ? 0 : rows_of_all_.strides[t][rows_axis_];
  args.rows = rows_together_;
  args.x.data = op_.x1.data + begins[kX];
  args.x.row_stride = strides[kX];
  args.y.data = y_.data + begins[kOfY];
  args.y.row_stride = strides[kOfY];
  if (args.x_scale.data != nullptr) {
    args.x_scale.data = op_.pertoken_scale.data + begins[kPowers];
    args.x_scale.row_stride = strides[kPowers];
  }
  for (Strided* of : {&args.scales[0], &args.scales[1], &args.late_scale})
    *of = of->from(which * rows_together_, 0);
}

ProductKernel::Args QuantMatmul::Work::product(int64_t which) const {
  ProductKernel::Args args{};
  args.rows = y_.shape.dims[y_.rank - 2];
  args.columns = y_.shape.dims[y_.rank - 1];
  args.depth = op_.matrix_.k;
  args.x = rows_of(op_.x1, op_.x1_codes_, op_.x1.is_packed() && op_.x1_transposed);
  args.x.data = batch_of(op_.x1, which);
  args.weight = columns_of(op_.x2, op_.matrix_);
  args.weight.data = batch_of(op_.x2, which);
  args.y_dtype = y_.dtype;
  args.y = {batch_of(y_, which), y_.strides[y_.rank - 2], y_.strides[y_.rank - 1]};
  if (op_.is_by_groups())
    take_groups(args);
  else
    take_scales(args, which);
  if (in_common_) take_rows(args, which);
  return args;
}

Status QuantMatmul::run(const TensorView* out) const {
  Work work(*this, out[kY]);
  NPU_QUANT_RETURN_IF_ERROR(work.prepare());
  return run_products(name, work);
}

}  // namespace npu_quant
