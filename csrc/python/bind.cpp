#include "python/bind.h"

#include "python/released.h"

namespace npu_quant::python {

py::object run(Op& op, ArrayArguments& arrays, const PlainArguments& plain, py::handle out,
               py::handle result_type, Code param_code) {
  arrays.fill_views();
  if (plain.failed()) {  // faults of arrays come first
    raise_unless_ok(op.check_arrays(), param_code);
    plain.raise_fault();
  }
  raise_unless_ok(op.check(), param_code);
  if (asks_for_checks(out)) return py::none();
  raise_unless_ok(op.check_elements(), param_code);
  Outputs outputs(op, out, param_code);
  // Fresh ones are as they are planned.
  if (!out.is_none()) raise_unless_ok(op.check_outputs(outputs.views()), param_code);
  raise_unless_ok(run_released(op.bytes(), [&] { return op.run(outputs.views()); }));
  if (arrays.begin_with_tensor() && out.is_none()) [[unlikely]]
    outputs.turn_into_tensors();
  if (!out.is_none()) outputs.count_versions();
  return std::move(outputs).as(result_type);
}

py::object run(Op& op, Arguments arguments, Code param_code) {
  const Inputs inputs = op.inputs();
  const Attributes attributes = op.attributes();
  const auto own = static_cast<size_t>(inputs.size() + attributes.size());
  const size_t out = arguments.size() - 2, first = out - own;
  const py::handle result_type = first > 0 ? arguments[0] : nullptr;
  ArrayArguments arrays(op.name, inputs, &arguments[first]);
  const PlainArguments plain([&] {
    PyObject* const* const values = &arguments[first] + inputs.size();
    for (int i = 0; i < attributes.size(); ++i) read(op.name, attributes[i], values[i]);
    op.numerics = to_numerics(op.name, arguments[out + 1], op.has_profiles());
  });
  return run(op, arrays, plain, arguments[out], result_type, param_code);
}

py::object Function::make(py::handle module, const char* name,
                          const std::vector<const char*>& arguments, FastCall call) {
  signature = std::string(name) + "($module";
  for (const char* const argument : arguments) signature += std::string(", ") + argument;
  signature += ", /)\n--\n\n";
  count = static_cast<Py_ssize_t>(arguments.size());
  method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL,
            signature.c_str()};
  const py::object module_name = module.attr("__name__");
  PyObject* object = PyCFunction_NewEx(&method, module.ptr(), module_name.ptr());
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

}  // namespace npu_quant::python
