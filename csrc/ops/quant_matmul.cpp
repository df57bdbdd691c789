#include "ops/quant_matmul.h"

#include "ops/split/product_matrices.h"

namespace npu_quant {
namespace {

constexpr int64_t kMost = int64_t{1} << 52;  // elements of any array
constexpr char kOneOrColumns[] =
    "It holds one element, or one per column: flatten it with reshape(-1).",
               kRowPerGroup[] = "It holds a row for each group.",
               kPerRow[] = "It holds one element for each row of x1.reshape(-1, x1.shape[-1]).",
               kPerRowOfAll[] = "It holds one element per row, for all matrices of x1.",
               kPerColumn[] = "It holds one element per column.";
constexpr DType kFactorCodes[] = {DType::int8, DType::int32, DType::float8_e5m2,
                                  DType::float8_e4m3fn, DType::uint8};
constexpr DType kScalesOfIntegers[] = {DType::float32, DType::bfloat16, DType::int64},
                kScalesOfFloats[] = {DType::float32, DType::int64, DType::uint8,
                                     DType::float8_e8m0fnu},
                kCarriers[] = {DType::int64}, kOffsetsOfGroups[] = {DType::float16},
                kBiasesOfIntegers[] = {DType::int32, DType::float32, DType::float16,
                                       DType::bfloat16};
constexpr DType kBytes[] = {DType::uint8, DType::float8_e8m0fnu};

// What the elements of an array are; of bytes that is what the caller says.
Format codes_of(const TensorView& x, const DTypeRequest& named) {
  if (x.dtype == DType::uint8) return named.format;
  return x.dtype == DType::int32 ? Format::int4 : format_of(x.dtype);
}

bool is_integer(const TensorView& x) {
  return x.dtype == DType::int8 || x.dtype == DType::int32 || x.dtype == DType::int4;
}

std::string written(const Integers& list) {
  return "[" + joined(list.each, [](int64_t each) { return std::to_string(each); }) + "]";
}

}  // namespace

QuantMatmul::Sums QuantMatmul::sums() const {
  if (!is_integer(x1)) return is_among(scale.dtype, kBytes) ? Sums::mx : Sums::blocks;
  if (x1.dtype == DType::int8 && x2.dtype != DType::int8) return Sums::shifted_groups;
  return x1.dtype != DType::int8 && group_sizes.is_given() ? Sums::groups : Sums::whole;
}

Inputs QuantMatmul::inputs() {
  static constexpr Takes of_x1 = one_of(kFactorCodes).ranks(2, kMaxRank),
                         of_tensor = Takes{}.ranks(2, kMaxRank),
                         of_x2 = like(0).lists_to(DType::int8).ranks(2, kMaxRank);
  static constexpr Takes of_words =
      one_of(kInt32).or_like(0).lists_to(DType::int8).ranks(2, kMaxRank);
  static constexpr Takes of_scale =
      one_of(kScalesOfIntegers).made_of(DType::float32).ranks(1, 1, kOneOrColumns);
  static constexpr Takes of_factor =
      one_of(kScalesOfFloats).made_of(DType::float32).ranks(1, 1, kOneOrColumns);
  static constexpr Takes of_carriers =
      one_of(kCarriers).made_of(DType::int64).ranks(2, 2, kRowPerGroup);
  static constexpr Takes of_halves =
      one_of(kOffsetsOfGroups).made_of(DType::float16).ranks(2, 2, kRowPerGroup);
  static constexpr Takes of_bias =
      one_of(kBiasesOfIntegers).made_of(DType::int32).ranks(1, 3, kPerColumn);
  static constexpr Takes of_bytes = one_of(kBytes).any_rank(),
                         of_floats = one_of(kFloat32).made_of(DType::float32),
                         of_groups = of_floats.ranks(2, 2, kRowPerGroup),
                         of_columns = of_floats.ranks(1, 1, kOneOrColumns),
                         of_rows = of_floats.ranks(1, 2, kPerRow),
                         of_rows_of_all = of_floats.ranks(1, 2, kPerRowOfAll),
                         of_sums = of_floats.ranks(1, 3, kPerColumn);
  const Sums made = sums();
  const Takes& scales = made == Sums::groups           ? of_groups
                        : made == Sums::shifted_groups ? of_carriers
                        : made == Sums::whole          ? of_scale
                        : made == Sums::mx             ? of_bytes
                                                       : of_factor;
  const Takes& rows = x2.rank == 2 ? of_rows : of_rows_of_all;
  // An aclTensor counts codes.
  const bool is_tensor = x1.is_packed() || x1.dtype == DType::hifloat8;
  const Takes& others = x1.dtype == DType::int8 ? of_words : of_x2;
  return Inputs::of(
      required("x1", x1, is_tensor ? of_tensor : of_x1),
      required("x2", x2, x1.dtype == DType::int8 && x2.is_packed() ? of_tensor : others),
      required("scale", scale, scales),
      optional("offset", offset, made == Sums::groups ? of_halves : of_columns),
      optional("pertoken_scale", pertoken_scale, made == Sums::mx ? of_bytes : rows),
      optional("bias", bias, is_integer(x1) ? of_bias : of_sums), optional("y_scale", y_scale));
}

Attributes QuantMatmul::attributes() {
  return Attributes::of(optional("output_dtype", output_dtype), optional("x1_dtype", x1_dtype),
                        optional("x2_dtype", x2_dtype),
                        optional("pertoken_scale_dtype", pertoken_scale_dtype),
                        optional("scale_dtype", scale_dtype), optional("group_sizes", group_sizes));
}

Status QuantMatmul::check_dtypes(const npu_quant::Inputs& given) const {
  NPU_QUANT_RETURN_IF_ERROR(Op::check_dtypes(given));
  const char* needed = nullptr;
  if ((is_by_groups() || sums() == Sums::mx) && !pertoken_scale.present) needed = "pertoken_scale";
  if (sums() == Sums::shifted_groups && !offset.present) needed = "offset";
  if (needed == nullptr) return {};
  return fault(name, Fault::dtype, {Argument(needed)}, {"is ", Nothing()},
               {"expected an array: ", Argument("scale"), " has groups along k"});
}

void QuantMatmul::plan_outputs() {
  x1_codes_ = codes_of(x1, x1_dtype);
  const int64_t k = x1.shape.dims[x1.rank - 1] * codes_per_element(x1_codes_, x1.dtype);
  static_cast<void>(
      find_code_matrix(name, "x2", x2, codes_of(x2, x2_dtype), k, {"x1", x1}, matrix_));
  if (x2.is_packed()) matrix_.packed_along_k = x2_transposed;
  const Shape shape = product_shape(x1, x2, matrix_.n);
  fits_ = shape.has_at_most(kMost);
  outputs.assign(OutputSpec{"", plain_dtype(values()), fits_ ? shape : Shape{}});
}

Status QuantMatmul::check_output_dtype() const {
  static constexpr Format kOfIntegers[] = {Format::int8, Format::float16, Format::bfloat16,
                                           Format::int32},
                          kOfGroups[] = {Format::float16, Format::bfloat16},
                          kOfFloats[] = {Format::float16, Format::bfloat16, Format::float32};
  std::span<const Format> available = kOfIntegers;
  if (sums() != Sums::whole)
    available =
        is_by_groups() ? std::span<const Format>(kOfGroups) : std::span<const Format>(kOfFloats);
  if (is_among(values(), available)) return {};
  return wrong_format(name, "output_dtype", output_dtype, available,
                      {" for ", Argument("x1"), " of ", DTypeOf(x1), " and ", Argument("scale"),
                       " of ", DTypeOf(scale), is_by_groups() ? " in groups along k" : ""});
}

// Nothing, the array's own dtype, or one of others that mean the same.
Status QuantMatmul::check_named(const char* attribute, const DTypeRequest& named,
                                const char* argument, const TensorView& view,
                                std::span<const Format> also) const {
  if (named.is_default) return {};
  if (!view.present)
    return refuse(attribute, named.came(),
                  {"expected ", Nothing(), ": ", Argument(argument), " is ", Nothing()});
  if (named.format == format_of(view.dtype) || is_among(named.format, also)) return {};
  Text allowed{"expected ", Nothing()};
  for (const Format one : also) allowed += {", ", one};
  return refuse(attribute, named.came(), allowed + " or " + the_dtype({argument, view}));
}

// Of bytes the format has to be said.
Status QuantMatmul::check_codes(const char* attribute, const DTypeRequest& named,
                                const char* argument, const TensorView& view) const {
  static constexpr Format kInt4[] = {Format::int4}, kFloat4[] = {Format::float4_e2m1},
                          kHifloat8[] = {Format::hifloat8};
  if (view.dtype != DType::uint8)
    return check_named(
        attribute, named, argument, view,
        view.dtype == DType::int32 ? std::span<const Format>(kInt4) : std::span<const Format>());
  const auto held = sums() == Sums::mx ? kFloat4 : kHifloat8;
  if (!named.is_default && named.format == *held) return {};
  return refuse(attribute, named.came(),
                Text{"expected ", *held} + holds({argument, view}, *held) +
                    Text{" if ", Argument("scale"), " is ", DTypeOf(scale)});
}

Status QuantMatmul::check_group_sizes() const {
  const Sums made = sums();
  const int64_t last = made == Sums::mx ? kProductBlock : 0;
  if (!group_sizes.is_given()) {
    if (made != Sums::shifted_groups) return {};
    return refuse("group_sizes", Nothing(),
                  {"expected [0, 0, g] where g divides ", matrix_.k, ": ", Argument("scale"),
                   " has groups of g along k"});
  }
  if (made == Sums::whole || made == Sums::blocks)
    return fault(name, Fault::attribute, {Argument("group_sizes")}, {"is given"},
                 {"expected ", Nothing(), " for ", Argument("x1"), " of ", DTypeOf(x1), " and ",
                  Argument("scale"), " of ", DTypeOf(scale)});
  if (group_sizes.count != 3)
    return fault(name, Fault::attribute, {Argument("group_sizes")},
                 {"has length ", group_sizes.count}, "expected 3");
  const auto [m, n, k] = group_sizes.each;
  const bool fits = last > 0 ? k == last : k > 0 && matrix_.k % k == 0;
  if (fits && (m == 0 || m == 1) && (n == 0 || n == 1)) return {};
  if (last > 0) return refuse("group_sizes", written(group_sizes), {"expected [1, 1, ", last, "]"});
  return refuse("group_sizes", written(group_sizes),
                {"expected [0, 0, g] where g divides k (", matrix_.k, ")"});
}

Status QuantMatmul::misplaced(const char* argument, const TensorView& view, const Text& why) const {
  if (!view.present) return {};
  return fault(name, Fault::attribute, {Argument(argument)}, {"is given"},
               Text{"expected ", Nothing()} + why);
}

// Arguments that have no meaning here.
Status QuantMatmul::check_places() const {
  const Text of_values{" for results of ", values()},
      of_groups{" where ", Argument("scale"), " has groups along k"};
  const bool is_float = values() != Format::int8 && values() != Format::int32;
  if (!is_by_groups()) {
    if (values() != Format::int8) NPU_QUANT_RETURN_IF_ERROR(misplaced("offset", offset, of_values));
    if (!is_float && pertoken_scale.present)
      return refuse("output_dtype", output_dtype.came(),
                    {"expected ", Format::float16, " or ", Format::bfloat16, " with ",
                     Argument("pertoken_scale")});
    if (values() == Format::int32 && bias.dtype != DType::int32)
      NPU_QUANT_RETURN_IF_ERROR(
          misplaced("bias", bias, {" or ", DType::int32, " for results of ", values()}));
  } else {
    NPU_QUANT_RETURN_IF_ERROR(misplaced("bias", bias, of_groups));
  }
  return misplaced("y_scale", y_scale, {": ", Argument("y_scale"), " is not available"});
}

Status QuantMatmul::check_attributes() {
  static constexpr Format kPowers[] = {Format::float8_e8m0fnu};
  const auto powers = [](const TensorView& view) {
    return view.dtype == DType::uint8 ? std::span<const Format>(kPowers)
                                      : std::span<const Format>();
  };
  NPU_QUANT_RETURN_IF_ERROR(check_output_dtype());
  NPU_QUANT_RETURN_IF_ERROR(check_codes("x1_dtype", x1_dtype, "x1", x1));
  NPU_QUANT_RETURN_IF_ERROR(check_codes("x2_dtype", x2_dtype, "x2", x2));
  NPU_QUANT_RETURN_IF_ERROR(check_named("pertoken_scale_dtype", pertoken_scale_dtype,
                                        "pertoken_scale", pertoken_scale, powers(pertoken_scale)));
  NPU_QUANT_RETURN_IF_ERROR(check_named("scale_dtype", scale_dtype, "scale", scale, powers(scale)));
  NPU_QUANT_RETURN_IF_ERROR(check_group_sizes());
  return check_places();
}

Status QuantMatmul::check_factors() {
  CodeMatrix found;
  NPU_QUANT_RETURN_IF_ERROR(
      find_code_matrix(name, "x2", x2, matrix_.codes, matrix_.k, {"x1", x1}, found));
  NPU_QUANT_RETURN_IF_ERROR(check_batches(name, "x1", x1, "x2", x2));
  if (fits_) return {};
  return wrong_shape(
      name, "x2", x2,
      Text{"expected at most ", kMost, " elements in the product with "} + with_shape({"x1", x1}));
}

Status QuantMatmul::check_parameters() const {
  const int64_t n = matrix_.n;
  if (sums() == Sums::mx) {
    Shape of_x1 = x1.shape, of_x2 = x2.shape;
    of_x1.dims[x1.rank - 1] = of_x2.dims[x2.rank - 2] = matrix_.k;
    of_x2.dims[x2.rank - 1] = n;
    NPU_QUANT_RETURN_IF_ERROR(
        check_block_scales(name, "scale", scale, of_x2, x2.rank - 2, {"x2", x2}));
    NPU_QUANT_RETURN_IF_ERROR(
        check_block_scales(name, "pertoken_scale", pertoken_scale, of_x1, x1.rank - 1, {"x1", x1}));
  } else if (is_by_groups()) {
    const Shape expected{2, {matrix_.k / group_sizes.each[2], n}};
    for (const auto& [argument, view] : {std::pair{"scale", &scale}, {"offset", &offset}})
      if (view->present && view->rank == 2 && view->shape != expected)
        return wrong_shape(name, argument, *view,
                           {"expected ", expected, ": a row for each group along k of ",
                            Argument("x2"), " of shape ", x2.shape});
    if (sums() == Sums::shifted_groups)
      NPU_QUANT_RETURN_IF_ERROR(check_along_columns(name, "offset", offset, {"x2", x2}, n, false));
  } else {
    NPU_QUANT_RETURN_IF_ERROR(check_along_columns(name, "scale", scale, {"x2", x2}, n, true));
    NPU_QUANT_RETURN_IF_ERROR(check_along_columns(name, "offset", offset, {"x2", x2}, n, true));
  }
  return sums() == Sums::mx ? Status() : check_tokens();
}

// All matrices of x1 share one scale per row; merged into one, each row has its own.
Status QuantMatmul::check_tokens() const {
  const int64_t m = x1.shape.dims[x1.rank - 2];
  const Shape rows = pertoken_scale.rank == 2 ? Shape{2, {m, 1}} : Shape{1, {m}};
  if (x1.rank == 2 || !pertoken_scale.present || pertoken_scale.shape == rows)
    return check_along_rows(name, "pertoken_scale", pertoken_scale, {"x1", x1}, rows);
  const bool may_merge = x2.rank == 2;
  return wrong_shape(name, "pertoken_scale", pertoken_scale,
                     Text{"expected ", rows, ": an element for each row of all matrices of "} +
                         with_shape({"x1", x1}),
                     may_merge ? "For a scale per token pass x1.reshape(-1, x1.shape[-1]) with "
                                 "pertoken_scale.reshape(-1), and reshape the result."
                               : "");
}

Status QuantMatmul::check_shapes() {
  NPU_QUANT_RETURN_IF_ERROR(check_factors());
  NPU_QUANT_RETURN_IF_ERROR(check_parameters());
  const Shape& y = outputs[kY].shape;
  if (bias.rank != 3 || y.rank != 3)
    return check_along_columns(name, "bias", bias, {"x2", x2}, matrix_.n, false);
  const Shape expected{3, {y.dims[0], 1, matrix_.n}};
  if (bias.shape == expected) return {};
  return wrong_shape(name, "bias", bias,
                     {"expected (", matrix_.n, ",) or ", expected,
                      ": an element for each column of the product with ", Argument("x2"),
                      " of shape ", x2.shape});
}

}  // namespace npu_quant
