#include "ops/dual_level_quant_matmul.h"

#include "core/ceil_div.h"
#include "ops/split/product_matrices.h"

namespace npu_quant {
namespace {

constexpr int64_t kLevel0 = 512;  // k that have a scale of the upper level in common
constexpr Format kValuesOf16Bits[] = {Format::float16, Format::bfloat16};

int64_t depth_of(const TensorView& x) { return 2 * x.shape.dims[1]; }

class DualLevelProduct final : public Products {
 public:
  DualLevelProduct(const DualLevelQuantMatmul& op, const TensorView& y) : op_(op), y_(y) {}

  Status take_parameters() {
    const auto assign = [this](Parameter& to, const TensorView& view) {
      return to.assign(op_.name, view, view.shape, view.strides);
    };
    NPU_QUANT_RETURN_IF_ERROR(assign(of_rows_, op_.x1_level0_scale));
    NPU_QUANT_RETURN_IF_ERROR(assign(of_columns_, op_.x2_level0_scale));
    return op_.bias.present ? assign(bias_, op_.bias) : Status{};
  }

  int64_t count() const override { return 1; }
  ProductKernel::Args product(int64_t) const override {
    constexpr int64_t kItem = sizeof(float);
    ProductKernel::Args args{};
    args.rows = y_.shape.dims[0];
    args.columns = y_.shape.dims[1];
    args.depth = depth_of(op_.x1);
    args.x = rows_of(op_.x1, Format::float4_e2m1);
    args.weight = rows_of(op_.x2, Format::float4_e2m1);
    args.sums = SumForm::blocks;
    args.x_scale = powers_of_rows(op_.x1_level1_scale);
    args.block_scale = powers_of_rows(op_.x2_level1_scale);
    args.level = kLevel0;
    args.x_level = {of_rows_.data(), op_.x1_level0_scale.shape.dims[1] * kItem, kItem};
    args.weight_level = {of_columns_.data(), args.columns * kItem, kItem};
    if (op_.bias.present) args.bias = per_column(bias_);
    args.y_dtype = y_.dtype;
    args.y = {y_.data, y_.strides[0], y_.strides[1]};
    return args;
  }

 private:
  const DualLevelQuantMatmul& op_;
  const TensorView& y_;
  Parameter of_rows_, of_columns_, bias_;
};

}  // namespace

Inputs DualLevelQuantMatmul::inputs() {
  static constexpr const char kCodes[] = "Each byte holds two codes along k.",
                              kBlocks[] = "Its last axis holds the bytes of two blocks of 32.";
  static constexpr DType kBytes[] = {DType::uint8},
                         kPowers[] = {DType::uint8, DType::float8_e8m0fnu};
  static constexpr Takes of_codes = one_of(kBytes).ranks(2, 2, kCodes),
                         of_floats = one_of(kFloat32).made_of(DType::float32).ranks(2, 2),
                         of_blocks = one_of(kPowers).ranks(3, 3, kBlocks),
                         of_bias = one_of(kFloat32)
                                       .made_of(DType::float32)
                                       .ranks(1, 1, "It holds one element per column.");
  return Inputs::of(required("x1", x1, of_codes), required("x2", x2, of_codes),
                    required("x1_level0_scale", x1_level0_scale, of_floats),
                    required("x2_level0_scale", x2_level0_scale, of_floats),
                    required("x1_level1_scale", x1_level1_scale, of_blocks),
                    required("x2_level1_scale", x2_level1_scale, of_blocks),
                    optional("bias", bias, of_bias));
}

Attributes DualLevelQuantMatmul::attributes() {
  return Attributes::of(optional("output_dtype", output_dtype));
}

void DualLevelQuantMatmul::plan_outputs() {
  const Format values = output_dtype.is_default ? Format::bfloat16 : output_dtype.format;
  Shape shape{2, {x1.shape.dims[0], x2.shape.dims[0]}};
  // One that is too large is refused with the shapes.
  if (!check_product_size(name, {"x1", x1}, {"x2", x2}, shape.dims[1]).ok()) shape = {};
  outputs.assign(OutputSpec{"", plain_dtype(values), shape});
}

Status DualLevelQuantMatmul::check_attributes() {
  return check_format_in(name, "output_dtype", output_dtype, kValuesOf16Bits);
}

Status DualLevelQuantMatmul::check_shapes() {
  const int64_t m = x1.shape.dims[0], n = x2.shape.dims[0], k = depth_of(x1);
  const NamedView of_x1{"x1", x1}, of_x2{"x2", x2};
  if (x2.shape.dims[1] != x1.shape.dims[1])
    return wrong_shape(
        name, "x2", x2,
        Text{"expected (n, ", x1.shape.dims[1], "), with rows as long as in "} + with_shape(of_x1));
  NPU_QUANT_RETURN_IF_ERROR(check_product_size(name, of_x1, of_x2, n));
  const auto check_level = [&](const char* argument, const TensorView& view, const Shape& expected,
                               const NamedView& of) -> Status {
    if (view.shape == expected) return {};
    return wrong_shape(
        name, argument, view,
        Text{"expected ", expected, ": an element for each ", kLevel0, " codes along k of "} +
            with_shape(of));
  };
  const int64_t levels = ceil_div(k, kLevel0);
  NPU_QUANT_RETURN_IF_ERROR(
      check_level("x1_level0_scale", x1_level0_scale, {2, {m, levels}}, of_x1));
  NPU_QUANT_RETURN_IF_ERROR(
      check_level("x2_level0_scale", x2_level0_scale, {2, {levels, n}}, of_x2));
  NPU_QUANT_RETURN_IF_ERROR(
      check_block_scales(name, "x1_level1_scale", x1_level1_scale, {2, {m, k}}, 1, of_x1));
  NPU_QUANT_RETURN_IF_ERROR(
      check_block_scales(name, "x2_level1_scale", x2_level1_scale, {2, {n, k}}, 1, of_x2));
  return check_along_columns(name, "bias", bias, of_x2, n, false);
}

Status DualLevelQuantMatmul::run(const TensorView* out) const {
  DualLevelProduct product(*this, out[kY]);
  NPU_QUANT_RETURN_IF_ERROR(product.take_parameters());
  return run_products(name, product);
}

}  // namespace npu_quant
