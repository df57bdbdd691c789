#include "ops/rules.h"

#include "ops/op.h"
#include "ops/parameter.h"

namespace npu_quant {
namespace {

// docs/numerics.md: amax becomes the format's greatest value. Integers have a code more below 0.
Rule reference(Format codes, const Geometry& geometry) {
  const FormatRow* const row = find_row(codes);
  if (row == nullptr) return {};
  const bool is_given = geometry.greatest != 0;
  const float greatest =
      is_given ? to_float32(geometry.greatest) : static_cast<float>(row->greatest);
  return {.greatest = greatest, .range = 2 * greatest + (row->least_step == 1 ? 1.0f : 0.0f)};
}

// The profiles an operator has.
constexpr Numerics kOfEveryOperator[] = {Numerics::reference};

}  // namespace

Status rule_for(const Op& op, Format codes, const Geometry& geometry, Rule& rule) {
  for (const Numerics numerics : kOfEveryOperator)
    if (op.numerics == numerics) return rule = reference(codes, geometry), Status{};
  const auto show = [](Numerics numerics) { return name_of(numerics); };
  return fault(op.name, Fault::unavailable, {Argument("numerics")},
               {"is ", quoted(name_of(op.numerics))},
               {"available: ", joined(kOfEveryOperator, show)});
}

}  // namespace npu_quant
