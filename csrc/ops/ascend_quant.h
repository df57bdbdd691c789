// aclnnAscendQuant and V3: the contract. They multiply, and their parameters go together in dtype
// and shape.
#pragma once

#include "ops/contract/choice.h"
#include "ops/quantize.h"

namespace npu_quant {

struct AscendQuant final : Quantize {
  // The first version quantizes along the last axis, the third along one of the last two.
  enum class Version { v1, v3 };
  static constexpr Word<Rounding> kRoundModes[] = {{"round", Rounding::to_even},
                                                   {"floor", Rounding::floor},
                                                   {"ceil", Rounding::ceil},
                                                   {"trunc", Rounding::trunc}};

  AscendQuant(const char* name, Version version) : Quantize(name), version_(version) {
    div_mode = false;
    least_rank_ = version == Version::v3 ? 1 : 0;
  }

  Choice<kRoundModes> round_mode;

  Attributes attributes() override;

 private:
  Status check_dtypes(const Inputs& given) const override;
  Status check_attributes() override;
  Status check_shapes() override;
  Status check_axis();
  Status check_last_axis_parameters() const;

  Version version_;
};

}  // namespace npu_quant
