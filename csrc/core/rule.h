// How the greatest magnitude of a group becomes its scale: data, chosen by ops/rules.cpp.
#pragma once

namespace npu_quant {

struct Rule {
  float greatest = 127;  // the code that the greatest magnitude becomes
};

}  // namespace npu_quant
