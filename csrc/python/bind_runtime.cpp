// The runtime's own functions: threads, targets, profiles, and the environment variables that
// choose them.
#include "core/cache.h"
#include "core/parallel.h"
#include "core/target.h"
#include "ops/contract/environment.h"
#include "python/numpy_view.h"

namespace npu_quant::python {
namespace {

py::list runnable_targets() {
  py::list names;
  for (const Target target : kAllTargets)
    if (is_runnable(target)) names.append(name_of(target));
  return names;
}

// A variable that was mended since the first attempt to import counts.
void raise_unless_environment_is_ok() {
  if (environment().status.ok()) return;
  const Status status = read_environment().status;
  if (!status.ok()) throw py::import_error(message_of(status));
}

// The rows of npu_quant.dtypes: name, ACL's, ACL's code, torch's, the dtype of the arrays that hold
// it, bits, greatest value, least step.
py::list formats() {
  py::list rows;
  for (const FormatRow& row : kFormats) {
    if (row.is_carrier_only) continue;
    py::list torch_codes;
    for (const int code : {row.torch_codes.own, row.torch_codes.quantized})
      if (code >= 0) torch_codes.append(code);
    rows.append(py::make_tuple(row.name, row.acl_name, static_cast<int>(row.format),
                               py::tuple(torch_codes), name_of(row.carrier), row.bits, row.greatest,
                               row.least_step));
  }
  return rows;
}

void set_threads(py::handle n) {
  const int64_t wanted = to_int("set_num_threads", "n", n);
  raise_unless_ok(check_num_threads(wanted));
  set_num_threads(static_cast<int>(wanted));
}

}  // namespace

void bind_runtime(py::module_& module) {
  raise_unless_environment_is_ok();
  module.def("target", [] { return name_of(active_target()); });
  module.def("targets", &runnable_targets);
  module.def("prefetch", [] { return name_of(prefetch_level()); });
  module.def("streaming", [] { return name_of(streaming()); });
  // For tests: not while anything computes.
  module.def("set_target", [](const std::string& name) { return set_target(name); });
  module.def("set_prefetch", [](const std::string& name) { return set_prefetch(name); });
  module.def("set_streaming", [](const std::string& name) { return set_streaming(name); });
  module.def("set_shares_small_work", &set_shares_small_work);
  module.def("version", [] { return NPU_QUANT_VERSION; });
  module.def("compiler", [] { return __VERSION__; });
  module.def(
      "check_numerics", [](py::handle name) { to_numerics("numerics", name, true); },
      py::arg("name"));
  module.def("list_numerics", [] {
    py::list names;
    for (const char* name : list_numerics()) names.append(name);
    return names;
  });
  module.def("formats", &formats);
  module.def("get_num_threads", &get_num_threads);
  module.def("set_num_threads", &set_threads, py::arg("n"));
}

}  // namespace npu_quant::python
