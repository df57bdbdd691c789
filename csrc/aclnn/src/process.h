// What holds for the whole process, read once, when the library is loaded.
#pragma once

#include "ops/environment.h"

namespace npu_quant::aclnn {

struct Process {
  Status environment;  // a fault where a variable holds nothing we know
  Numerics numerics = Numerics::reference;
};

const Process& process();

}  // namespace npu_quant::aclnn
