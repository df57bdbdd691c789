#include "ops/grouped_matmul.h"

#include "core/ceil_div.h"
#include "ops/split/product_matrices.h"
#include "ops/split/row_groups.h"

namespace npu_quant {
namespace {

constexpr int64_t kPairedBlocks = 64;  // of 32 k, that share two bytes

constexpr DType kOfX[] = {DType::float16, DType::bfloat16,      DType::float32, DType::int8,
                          DType::int32,   DType::float8_e4m3fn, DType::uint8},
                kLists[] = {DType::int64}, kCodeWeights[] = {DType::int8, DType::int32},
                kPowers[] = {DType::uint8, DType::float8_e8m0fnu}, kFloat16[] = {DType::float16},
                kCarried[] = {DType::int64, DType::float32},
                kOfColumns[] = {DType::int64, DType::float32, DType::bfloat16},
                kAnyBias[] = {DType::int32, DType::float32, DType::float16, DType::bfloat16};

// Of whatever x; an aclTensor counts codes of int4.
bool is_of_codes(const TensorView& weight) {
  return is_among(weight.dtype, kCodeWeights) || weight.dtype == DType::int4;
}

}  // namespace

GroupedMatmul::GroupedMatmul(int64_t entry, bool shares_x)
    : Op("npu_grouped_matmul"), shares_x_(shares_x) {
  static constexpr const char* kNamesOfLists[kNames] = {
      "x", "weight", "bias", "scale", "antiquant_scale", "antiquant_offset", "per_token_scale"};
  for (int i = 0; i < kNames; ++i) {
    const bool is_first = shares_x && (i == kX || i == kTokens);
    names_[i].append(kNamesOfLists[i]).append("[");
    names_[i].append(std::to_string(is_first ? 0 : entry)).append("]");
  }
  out_name_ = std::to_string(entry);
}

bool GroupedMatmul::gives_floats() const {
  return output_dtype.format == Format::float16 || output_dtype.format == Format::bfloat16;
}

GroupedMatmul::Form GroupedMatmul::form() const {
  switch (x.dtype) {
    case DType::int8: return weight.dtype == DType::int8 ? Form::a8w8 : Form::a8w4;
    case DType::int32:
    case DType::int4: return Form::a4w4;
    case DType::uint8:
    case DType::float4_e2m1:
    case DType::float8_e4m3fn: return Form::mx;
    default: return is_of_codes(weight) ? Form::antiquant : Form::plain;
  }
}

Format GroupedMatmul::codes_of(const TensorView& view) const {
  if (view.dtype == DType::uint8) return Format::float4_e2m1;
  return view.dtype == DType::int32 ? Format::int4 : format_of(view.dtype);
}

int64_t GroupedMatmul::k() const {
  return x.shape.dims[x.rank - 1] * codes_per_element(codes_of(x), x.dtype);
}

Inputs GroupedMatmul::inputs() {
  static constexpr Takes
      of_x = one_of(kOfX).ranks(2, 6),
      of_weight = like(0).ranks(2, 3), of_packed_x = Takes{}.ranks(2, 6),
      of_packed = Takes{}.ranks(2, 3), of_codes = one_of(kCodeWeights).or_like(0).ranks(2, 3),
      of_int8 = one_of(kCodeWeights).ranks(2, 3),
      of_list = one_of(kLists).made_of(DType::int64).ranks(1, 2),
      of_bias = one_of(kFloat32).made_of(DType::float32).ranks(1, 2),
      of_half_bias = one_of(kFloat16).ranks(1, 2), of_any_bias = one_of(kAnyBias).ranks(1, 2),
      of_columns = one_of(kOfColumns).ranks(1, 2), of_groups = one_of(kCarried).ranks(2, 3),
      of_powers = one_of(kPowers).ranks(3, 4), of_weights = like(0).ranks(1, 3),
      of_rows =
          one_of(kFloat32).made_of(DType::float32).ranks(1, 1, "It holds one element per row.");
  const Form kind = form();
  const bool is_half = x.dtype == DType::float16 || x.dtype == DType::bfloat16;
  const bool is_float = kind == Form::plain || kind == Form::antiquant, is_mx = kind == Form::mx;
  const bool is_exact = kind == Form::a8w8;
  const Takes& antiquant = kind == Form::antiquant ? of_weights : kAnything;
  const Takes& scales = is_exact ? of_columns : is_mx ? of_powers : of_groups;
  const Takes& weights = is_half ? of_codes : x.dtype == DType::int8 ? of_int8 : of_weight;
  const Takes& biases = x.dtype == DType::float16 ? of_half_bias : is_exact ? of_any_bias : of_bias;
  const bool takes_packed = weight.dtype == DType::int4 && (is_half || x.dtype == DType::int8);
  return Inputs::of(required(named(kX), x, x.is_packed() ? of_packed_x : of_x),
                    required(named(kWeight), weight, takes_packed ? of_packed : weights),
                    optional(named(kBias), bias, kind == Form::a4w4 ? kAnything : biases),
                    optional(named(kScale), scale, is_float ? kAnything : scales),
                    optional(named(kAntiquantScale), antiquant_scale, antiquant),
                    optional(named(kAntiquantOffset), antiquant_offset, antiquant),
                    optional(named(kTokens), per_token_scale,
                             is_float ? kAnything
                             : is_mx  ? of_powers
                                      : of_rows),
                    optional("group_list", group_list, of_list));
}

Attributes GroupedMatmul::attributes() {
  return Attributes::of(optional("split_item", split_item), optional("group_type", group_type),
                        optional("group_list_type", group_list_type),
                        optional("act_type", act_type), optional("output_dtype", output_dtype),
                        optional("x_dtype", x_dtype), optional("weight_dtype", weight_dtype),
                        optional("scale_dtype", scale_dtype),
                        optional("per_token_scale_dtype", per_token_scale_dtype));
}

void GroupedMatmul::plan_outputs() {
  find_code_matrix(name, named(kWeight), weight, codes_of(weight), k(), {named(kX), x}, matrix_);
  Shape shape = x.shape;
  shape.dims[x.rank - 1] = matrix_.n;
  if (splits_k()) {
    const int64_t groups = group_list.present ? group_list.shape.dims[0] : 0;
    shape = {3, {groups, x.shape.dims[0], matrix_.n}};
  }
  // What is too large is refused with the shapes.
  if (!shape.has_at_most(int64_t{1} << 52)) shape = {};
  const Format values = output_dtype.is_default ? format_of(x.dtype) : output_dtype.format;
  outputs.assign(OutputSpec{"", plain_dtype(values), shape});
}

Status GroupedMatmul::check_attributes() {
  if (is_stack() && entries > 1)
    return fault(name, Fault::rank, {Argument(named(kWeight))}, {"has ", dimensions(weight.rank)},
                 {"expected 2: ", Argument("weight"), " has ", entries, " arrays"});
  if (split_item < 0 || split_item > 3)
    return refuse("split_item", split_item,
                  "expected 0 or 1 (an array for each group) or 2 or 3 (one for all)");
  NPU_QUANT_RETURN_IF_ERROR(check_group_type());
  if (group_list_type < 0 || group_list_type > 2)
    return refuse("group_list_type", group_list_type,
                  "expected 0 (ends), 1 (counts) or 2 (indices and counts)");
  NPU_QUANT_RETURN_IF_ERROR(check_output_dtype());
  NPU_QUANT_RETURN_IF_ERROR(check_results_of_scales());
  NPU_QUANT_RETURN_IF_ERROR(check_places());
  NPU_QUANT_RETURN_IF_ERROR(check_scale_dtype());
  const bool has_activation = form() == Form::a8w8 && per_token_scale.present && gives_floats();
  if (act_type != 0 && (!has_activation || (act_type != 1 && act_type != 5)))
    return refuse("act_type", act_type,
                  {"available: 0 (none)", has_activation ? "" : "; for int8 with ",
                   has_activation ? Part("") : Argument("per_token_scale"),
                   has_activation ? ", 1 (relu), 5 (swish)" : " also 1 (relu), 5 (swish)"});
  NPU_QUANT_RETURN_IF_ERROR(check_named("x_dtype", x_dtype, kX, x));
  NPU_QUANT_RETURN_IF_ERROR(check_named("weight_dtype", weight_dtype, kWeight, weight));
  NPU_QUANT_RETURN_IF_ERROR(check_named("scale_dtype", scale_dtype, kScale, scale));
  return check_named("per_token_scale_dtype", per_token_scale_dtype, kTokens, per_token_scale);
}

// What a form needs, and what has no meaning in it.
Status GroupedMatmul::check_places() const {
  enum Place { no, may, must };
  struct Places {
    Place bias, scale, antiquant_scale, antiquant_offset, per_token_scale;
  };
  static constexpr Places kOfForms[] = {
      {may, no, no, no, no},      // plain
      {may, may, no, no, may},    // a8w8
      {may, must, no, no, must},  // a8w4
      {no, must, no, no, may},    // a4w4
      {may, no, must, may, no},   // antiquant
      {may, must, no, no, must},  // mx
  };
  const Places places = kOfForms[static_cast<int>(form())];
  const auto check = [&](Named which, const TensorView& view, Place place) -> Status {
    const bool fits = place == may || view.present == (place == must);
    if (fits) return {};
    return fault(name, Fault::attribute, {Argument(named(which))},
                 {"is ", view.present ? Part("given") : Part(Nothing())},
                 {"expected ", place == no ? Part(Nothing()) : Part("an array"), " for ",
                  Argument(named(kX)), " of ", DTypeOf(x), " and ", Argument(named(kWeight)),
                  " of ", DTypeOf(weight)});
  };
  NPU_QUANT_RETURN_IF_ERROR(check(kBias, bias, splits_k() ? no : places.bias));
  const bool is_exact = form() == Form::a8w8;
  const Place of_scale = !is_exact ? places.scale : gives_sums() ? no : must;
  if (is_exact && of_scale == must && !scale.present)
    return fault(name, Fault::attribute, {Argument(named(kScale))}, {"is ", Nothing()},
                 {"expected an array: results of ",
                  output_dtype.is_default ? Part(Format::int8) : output_dtype.came(),
                  " are scaled, those of ", Format::int32, " are not"});
  NPU_QUANT_RETURN_IF_ERROR(check(kScale, scale, of_scale));
  NPU_QUANT_RETURN_IF_ERROR(check(kAntiquantScale, antiquant_scale, places.antiquant_scale));
  NPU_QUANT_RETURN_IF_ERROR(check(kAntiquantOffset, antiquant_offset, places.antiquant_offset));
  const bool has_tokens = !is_exact || gives_floats();
  return check(kTokens, per_token_scale, has_tokens ? places.per_token_scale : no);
}

Status GroupedMatmul::check_group_type() const {
  if (group_type != -1 && group_type != 0 && group_type != 2)
    return refuse("group_type", group_type,
                  "expected -1 (no groups), 0 (groups of rows) or 2 (groups of columns of x)");
  if (splits_k() && (form() != Form::plain || is_stack() || entries > 1))
    return refuse("group_type", group_type,
                  "expected -1 or 0: 2 needs one x and one weight, floats of 2 dimensions");
  if (splits_k() && split_item < 2)
    return refuse("split_item", split_item,
                  {"expected 2 or 3 with ", Argument("group_type"), " 2"});
  if (group_type == -1 && (is_stack() || shares_x_))
    return refuse("group_type", group_type,
                  {"expected 0: one ", Argument("x"), " goes with several weights"});
  const bool needs_list = is_stack() || shares_x_ || splits_k();
  if (group_list.present ? group_type >= 0 : !needs_list) return {};
  if (group_list.present)
    return refuse("group_type", group_type,
                  {"expected 0 (groups of rows) or 2 (groups of columns of ", Argument("x"),
                   ") with ", Argument("group_list")});
  return refuse("group_list", Nothing(),
                {"expected an array with ", Argument("group_type"), " ", group_type});
}

Status GroupedMatmul::check_output_dtype() const {
  static constexpr Format kHalves[] = {Format::float16, Format::bfloat16};
  static constexpr Format kOfSums[] = {Format::int8, Format::int32, Format::float16,
                                       Format::bfloat16};
  static constexpr Format kOfMx[] = {Format::float16, Format::bfloat16, Format::float32};
  const Format own[] = {format_of(x.dtype)};
  std::span<const Format> available = kHalves;
  if (form() == Form::plain || form() == Form::antiquant) available = own;
  if (form() == Form::a8w8) available = kOfSums;
  if (form() == Form::mx) available = kOfMx;
  if (is_among(output_dtype.is_default ? own[0] : output_dtype.format, available)) return {};
  return wrong_format(name, "output_dtype", output_dtype, available,
                      {" for ", Argument(named(kX)), " of ", DTypeOf(x), " and ",
                       Argument(named(kWeight)), " of ", DTypeOf(weight)});
}

// Scales of floats give floats: where none is asked for, output_dtype is what was left out.
Status GroupedMatmul::check_results_of_scales() const {
  if (form() != Form::a8w8 || gives_floats()) return {};
  const bool is_float = scale.present && scale.dtype != DType::int64;
  if (!per_token_scale.present && !is_float) return {};
  Text allowed{"expected ", Format::float16, " or ", Format::bfloat16, " with "};
  if (per_token_scale.present)
    allowed += {Argument(named(kTokens))};
  else
    allowed += {Argument(named(kScale)), " of ", DTypeOf(scale)};
  return refuse("output_dtype", output_dtype.came(), allowed);
}

// Words of a scale and an offset go with int8 results alone.
Status GroupedMatmul::check_scale_dtype() const {
  if (form() != Form::a8w8 || scale.dtype != DType::int64 || !gives_floats()) return {};
  return fault(name, Fault::dtype, {Argument(named(kScale))}, {"has dtype ", DTypeOf(scale)},
               {"expected float32 or bfloat16 for ", output_dtype.came()});
}

// None, or what an array holds.
Status GroupedMatmul::check_named(const char* attribute, const DTypeRequest& asked, Named which,
                                  const TensorView& view) const {
  if (asked.is_default) return {};
  const bool is_power = view.dtype == DType::uint8 && (which == kScale || which == kTokens);
  const Format held = is_power ? Format::float8_e8m0fnu : codes_of(view);
  if (view.present && (asked.format == held || asked.format == format_of(view.dtype))) return {};
  return refuse(
      attribute, asked.came(),
      view.present ? none_or_held({named(which), view}, held)
                   : Text{"expected ", Nothing(), ": ", Argument(named(which)), " is ", Nothing()});
}

// A parameter of that shape for each weight: a stack of weights has a stack of them.
Status GroupedMatmul::check_parameter(Named which, const TensorView& view, Shape expected,
                                      const char* meaning) const {
  if (!view.present) return {};
  if (is_stack()) {
    for (int i = expected.rank++; i > 0; --i) expected.dims[i] = expected.dims[i - 1];
    expected.dims[0] = weight.shape.dims[0];
  }
  if (view.shape == expected) return {};
  return wrong_shape(
      name, named(which), view,
      Text{"expected ", expected, ": ", meaning, ", for "} + with_shape({named(kWeight), weight}));
}

// One row for each group of as many k, of which there may be any number that divides k.
Status GroupedMatmul::check_groups_of_k(Named which, const TensorView& view) const {
  const int64_t parts =
      view.present && view.rank > is_stack() + 1 ? view.shape.dims[is_stack()] : 1;
  if (parts < 1 || k() % parts != 0)
    return wrong_shape(name, named(which), view,
                       Text{"expected a number of rows that divides ", k(), ", the k of "} +
                           with_shape({named(kX), x}));
  return check_parameter(which, view, {2, {parts, matrix_.n}},
                         "a row for each group of k, an element for each column");
}

Status GroupedMatmul::check_scales() const {
  static constexpr const char* kColumns = "an element for each column of the product";
  const Shape columns{1, {matrix_.n}};
  NPU_QUANT_RETURN_IF_ERROR(check_parameter(kBias, bias, columns, kColumns));
  if (form() == Form::mx)
    return check_parameter(kScale, scale, {3, {ceil_div(k(), kPairedBlocks), matrix_.n, 2}},
                           "two bytes for each 64 elements along k");
  if (form() == Form::a8w8) return check_parameter(kScale, scale, columns, kColumns);
  if (form() != Form::antiquant) return check_groups_of_k(kScale, scale);
  const bool has_rows = antiquant_scale.rank > is_stack() + 1 && weight.dtype != DType::int8;
  NPU_QUANT_RETURN_IF_ERROR(
      has_rows ? check_groups_of_k(kAntiquantScale, antiquant_scale)
               : check_parameter(kAntiquantScale, antiquant_scale, columns, kColumns));
  return check_same_shape(name, named(kAntiquantOffset), antiquant_offset, named(kAntiquantScale),
                          antiquant_scale);
}

Status GroupedMatmul::check_tokens() const {
  const NamedView of_x{named(kX), x};
  const int64_t rows = rows_of(x.shape).size();
  if (form() != Form::mx)
    return check_along_rows(name, named(kTokens), per_token_scale, of_x, {1, {rows}});
  return check_block_scales(name, named(kTokens), per_token_scale, {2, {rows, k()}}, 1, of_x);
}

Status GroupedMatmul::check_shapes() {
  CodeMatrix matrix;
  NPU_QUANT_RETURN_IF_ERROR(check_list_shape());
  NPU_QUANT_RETURN_IF_ERROR(find_code_matrix(name, named(kWeight), weight, codes_of(weight), k(),
                                             {named(kX), x}, matrix));
  NPU_QUANT_RETURN_IF_ERROR(
      check_product_size(name, {named(kX), x}, {named(kWeight), weight}, matrix_.n));
  if (outputs[kY].shape.rank == 0)
    return wrong_shape(name, "group_list", group_list,
                       "expected fewer groups: a result has at most 2^52 elements");
  NPU_QUANT_RETURN_IF_ERROR(check_scales());
  return check_tokens();
}

Status GroupedMatmul::check_list_shape() const {
  if (!group_list.present) return {};
  if (x.rank != 2)
    return fault(name, Fault::rank, {Argument(named(kX))}, {"has ", dimensions(x.rank)},
                 {"expected 2 with ", Argument("group_list")});
  NPU_QUANT_RETURN_IF_ERROR(check_group_count(name, "group_list", group_list));
  const bool has_indices = group_list_type == 2;
  const int64_t length = group_list.shape.dims[0], count = groups();
  const bool fits = group_list.rank == (has_indices ? 2 : 1) &&
                    (!has_indices || (group_list.shape.dims[1] == 2 && length <= count)) &&
                    (splits_k() || has_indices || length == count);
  if (fits) return {};
  if (splits_k()) return wrong_shape(name, "group_list", group_list, "expected one axis");
  const Text pairs{"expected (n, 2) with n from 1 to ", count,
                   ": each row holds the index of a weight and its number of rows"},
      entries_each{"expected ", Shape{1, {count}}, ": an entry for each weight"};
  return wrong_shape(name, "group_list", group_list, has_indices ? pairs : entries_each);
}

Status GroupedMatmul::find_groups(std::vector<ProductGroup>& groups) const {
  const int64_t weights = splits_k() ? group_list.shape.dims[0] : this->groups();
  return take_product_groups(name, group_list, group_list_type, named(kX),
                             splits_k() ? k() : x.shape.dims[0], weights, groups);
}

Status GroupedMatmul::check_elements() const {
  std::vector<ProductGroup> groups;
  const bool is_of_all = entries > 1;  // and is judged with the lists
  return group_list.present && !is_of_all ? find_groups(groups) : Status{};
}

// What is computed, of the arrays as they are.
GroupedCall GroupedMatmul::call(const std::vector<ProductGroup>* groups) const {
  GroupedCall call{name, x, weight, matrix_, codes_of(x), k(), SumForm::chunks};
  switch (form()) {
    case Form::a8w8: call.sums = SumForm::exact; break;
    case Form::a8w4: call.centred = call.late_tokens = true; [[fallthrough]];
    case Form::a4w4: call.sums = SumForm::groups; break;
    case Form::mx: call.sums = SumForm::blocks; break;
    case Form::plain:
    case Form::antiquant: break;
  }
  call.splits_k = splits_k();
  if (act_type != 0) call.activation = act_type == 1 ? Activation::relu : Activation::swish;
  call.bias = &bias;
  call.scale = &scale;
  call.antiquant_scale = &antiquant_scale;
  call.antiquant_offset = &antiquant_offset;
  call.per_token_scale = &per_token_scale;
  call.carries_offsets = outputs[kY].dtype == DType::int8;
  call.groups = group_list.present ? groups : nullptr;
  return call;
}

Status GroupedMatmul::run(const TensorView* out) const {
  std::vector<ProductGroup> groups;
  if (group_list.present) NPU_QUANT_RETURN_IF_ERROR(find_groups(groups));
  GroupedProducts products(call(&groups));
  NPU_QUANT_RETURN_IF_ERROR(products.prepare());
  return run_product_list(name, [&](ProductList& list) { products.add(out[kY], list); });
}

}  // namespace npu_quant
