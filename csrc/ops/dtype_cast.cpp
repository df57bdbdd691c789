#include "ops/dtype_cast.h"

#include <vector>

#include "core/dispatch.h"
#include "ops/split/elementwise.h"

namespace npu_quant {
namespace {

constexpr Format kCastFormats[] = {
    Format::float32,     Format::float16,     Format::bfloat16,      Format::int4,
    Format::hifloat8,    Format::float8_e5m2, Format::float8_e4m3fn, Format::float8_e8m0fnu,
    Format::float4_e2m1, Format::float4_e1m2};

// Whether an array may hold one of them. The scales of the MX operators lie in uint8.
bool may_hold(DType array, Format format) {
  return find_row(format)->carrier == array ||
         (array == DType::uint8 && format == Format::float8_e8m0fnu);
}

}  // namespace

Inputs DtypeCast::inputs() {
  static constexpr DType kArrays[] = {
      DType::float16, DType::bfloat16,    DType::float32,       DType::int32,
      DType::uint8,   DType::float8_e5m2, DType::float8_e4m3fn, DType::float8_e8m0fnu};
  static constexpr Takes of_self = one_of(kArrays);
  return Inputs::of(required("self", self, of_self));
}

Attributes DtypeCast::attributes() {
  return Attributes::of(required("dtype", dtype), optional("input_dtype", input_dtype));
}

void DtypeCast::plan_outputs() {
  from_ = input_dtype.is_default ? format_of(self.dtype) : input_dtype.format;
  values_ = self;
  if (self.rank > 0) values_.shape.dims[self.rank - 1] *= codes_per_element(from_, self.dtype);
  outputs.assign(codes_of("", codes(), values_.shape));
}

// uint8 and int32 hold codes, never numbers: of which format is to be said.
Status DtypeCast::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_format_in(name, "dtype", dtype, kCastFormats));
  if (is_among(from_, kCastFormats) && may_hold(self.dtype, from_)) return {};
  std::vector<Format> held;
  for (const Format format : kCastFormats)
    if (may_hold(self.dtype, format)) held.push_back(format);
  Text allowed = "expected ";
  allowed += listed(held, " or ");
  allowed += {" for ", Argument("self"), " of ", self.dtype};
  return refuse("input_dtype", input_dtype.came(), allowed);
}

Status DtypeCast::check_shapes() {
  if (is_packed(from_)) NPU_QUANT_RETURN_IF_ERROR(check_rank(name, "self", self, 1, kMaxRank));
  return check_packable(name, "self", values_, codes(), outputs[0].dtype);
}

Status DtypeCast::run(const TensorView* out) const {
  const CodeStrides of_self(self, is_packed(from_)), of_y(out[kY], is_packed(codes()));
  const Elementwise<0> work(values_.shape, {{self.data, of_self.data(), of_self.item()},
                                            {out[kY].data, of_y.data(), of_y.item()}});
  work.for_each_part(*this, {&self, &out[kY]}, [&](const ElementwiseArgs& part) {
    run_on_active_target<DtypeCastKernel>({.work = part, .from = from_, .to = codes()});
  });
  return {};
}

}  // namespace npu_quant
