// Scales and zero points that are given, as npu_quantize's kernel goes by them.
#pragma once

#include "core/format.h"
#include "ops/split/parameter.h"

namespace npu_quant {

// For one channel or for each. Scales and zero points are assigned first; scales that divide are
// then prepared.
struct QuantizeParameters {
  Parameter scale, zero_point, factor, offset;
  bool divide = false;

  // Finds how to divide by the scales of so many channels.
  Status prepare_division(const char* op, Format codes, int64_t channels);

  // The kernel's parameter of that number; what it does not go by is the scale.
  char* of_kernel(int parameter) const;

 private:
  void multiply_where_exact();
};

}  // namespace npu_quant
