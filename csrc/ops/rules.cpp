#include "ops/rules.h"

#include "ops/op.h"

namespace npu_quant {
namespace {

// The profiles an operator has.
constexpr Numerics kOfEveryOperator[] = {Numerics::reference};

}  // namespace

Status rule_for(const Op& op, DType, const Geometry&, Rule& rule) {
  std::string available;
  for (const Numerics numerics : kOfEveryOperator) {
    if (op.numerics == numerics) return rule = {}, Status{};
    available += (available.empty() ? "" : ", ") + std::string(name_of(numerics));
  }
  return fault(op.name, Fault::unavailable, {Argument("numerics")},
               {"is ", quoted(name_of(op.numerics))}, {"available: ", available});
}

}  // namespace npu_quant
