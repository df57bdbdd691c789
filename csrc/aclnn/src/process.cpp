#include "aclnn/src/process.h"

#include "core/parallel.h"

namespace npu_quant::aclnn {

const Process& process() {
  static const Process* const kept = [] {
    auto* made = new Process;  // never destroyed: threads may outlive static destructors
    made->environment = apply_environment(made->numerics);
    initialise_threads();
    return made;
  }();
  return *kept;
}

namespace {

// While there is one thread, and before any fork.
[[maybe_unused]] const Process& loaded = process();

}  // namespace
}  // namespace npu_quant::aclnn
