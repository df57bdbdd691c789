// The runtime's own functions: threads, targets, profiles, and the environment variables that
// choose them.
#include <cstdlib>

#include "core/dispatch.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "python/numpy_view.h"

namespace npu_quant::python {
namespace {

// Names the environment variable, what it holds, and what it may hold.
[[noreturn]] void raise_bad_environment(const char* variable, const std::string& allowed) {
  std::string value = quoted(std::getenv(variable));
  for (char& c : value)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';  // may not be UTF-8
  throw py::import_error(std::string("npu_quant: ") + variable + " is " + value +
                         ", available: " + allowed + ".");
}

py::list runnable_targets() {
  py::list names;
  for (const Target target : kAllTargets)
    if (is_runnable(target)) names.append(name_of(target));
  return names;
}

// False where this CPU runs no target of that name.
bool set_target(const std::string& name) {
  for (const Target target : kAllTargets)
    if (is_runnable(target) && name == name_of(target)) return set_active_target(target), true;
  return false;
}

void choose_target() {
  const char* wanted = std::getenv("NPU_QUANT_TARGET");
  if (wanted == nullptr || set_target(wanted)) return;
  std::string runnable;
  for (const Target target : kAllTargets) {
    if (!is_runnable(target)) continue;
    runnable += (runnable.empty() ? "" : ", ") + std::string(name_of(target));
  }
  raise_bad_environment("NPU_QUANT_TARGET", runnable + " (what this CPU runs)");
}

void check_environment() {
  const char* profile = std::getenv("NPU_QUANT_NUMERICS");
  Numerics numerics = Numerics::reference;
  if (profile != nullptr && !find_numerics(profile, numerics))
    raise_bad_environment("NPU_QUANT_NUMERICS", known_numerics());
  const int threads = num_threads_from_environment();
  if (threads == 0) raise_bad_environment("NPU_QUANT_NUM_THREADS", "a whole number from 1 to 4096");
  set_num_threads(threads);
}

void set_threads(py::handle n) {
  const int64_t wanted = to_int("set_num_threads", "n", n);
  raise_unless_ok(check_num_threads(wanted));
  set_num_threads(static_cast<int>(wanted));
}

}  // namespace

void bind_runtime(py::module_& module) {
  choose_target();
  check_environment();
  initialise_threads();
  initialise_memory();
  module.def("target", [] { return name_of(active_target()); });
  module.def("targets", &runnable_targets);
  module.def("set_target", &set_target, py::arg("name"));  // for tests: not while anything computes
  module.def("version", [] { return NPU_QUANT_VERSION; });
  module.def("compiler", [] { return __VERSION__; });
  module.def(
      "check_numerics", [](py::handle name) { to_numerics("numerics", name); }, py::arg("name"));
  module.def("list_numerics", [] {
    py::list names;
    for (const char* name : kNumericsNames) names.append(name);
    return names;
  });
  module.def("get_num_threads", &get_num_threads);
  module.def("set_num_threads", &set_threads, py::arg("n"));
}

}  // namespace npu_quant::python
