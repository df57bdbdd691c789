// What an op tells a kernel about a call's arithmetic.
#pragma once

namespace npu_quant {

// How the greatest magnitude of a group, or its range, becomes its scale: data, chosen by
// ops/rules.cpp.
struct Rule {
  float greatest = 127;  // the code that it becomes
  float range = 255;     // of the codes, where they have an offset
};

}  // namespace npu_quant
