"""Faults of the faces: csrc/python/, csrc/aclnn/ and python/."""

from __future__ import annotations

from .mutant import Fault

BIND, ACLNN, PYTHON = "csrc/python", "csrc/aclnn/src", "python/npu_quant"

BINDING = [
    Fault(
        "binding: out of one array is ignored",
        f"{BIND}/numpy_view.cpp",
        "arrays_[0] = py::reinterpret_borrow<py::object>(out)",
        "arrays_[0] = fresh_array(op.name, op.outputs[0])",
        "layouts quantize",
    ),
    Fault(
        "binding: outputs are swapped",
        f"{BIND}/numpy_view.cpp",
        "i, arrays_[i].release().ptr()",
        "i, arrays_[count_ - 1 - i].release().ptr()",
        "dynamic_quant",
    ),
    Fault(
        "binding: a fresh mask is of another dtype",
        f"{BIND}/numpy_view.cpp",
        "return objects.dtypes[row - kFormats];",
        "return objects.dtypes[dtype == DType::boolean ? 2 : row - kFormats];",
        "fake_quantize",
    ),
    Fault(
        "binding: a masked array loses its mask",
        f"{BIND}/numpy_view.cpp",
        "if (is_array && PyType_IsSubtype(Py_TYPE(value.ptr()), masked) == 0)",
        "if (is_array && masked != nullptr)",
        "errors",
    ),
    Fault(
        "binding: a missing array has the code of a wrong one",
        f"{BIND}/errors.cpp",
        "status, Code::param_nullptr",
        "status, Code::param_invalid",
        "errors",
    ),
    Fault(
        "binding: an error of the check is dropped",
        f"{BIND}/errors.cpp",
        'default: raise("ParamError", status, param_code);',
        "default: return;",
        "errors",
    ),
    Fault(
        "binding: epsilon is ignored",
        f"{BIND}/arguments.cpp",
        "{ field = to_double(op, name, value); }",
        '{ field = std::string_view(name) == "epsilon" ? 1e-6 : to_double(op, name, value); }',
        "add_rms_norm_quant",
    ),
    Fault(
        "binding: None is a value of an attribute that may be left out",
        f"{BIND}/arguments.cpp",
        "if (attribute.is_required || !value.is_none())",
        "if (attribute.is_required || value)",
        "dynamic_quant",
    ),
    Fault(
        "binding: attributes are read in another order",
        f"{BIND}/bind.cpp",
        "read(op.name, attributes[i], values[i]);",
        "read(op.name, attributes[attributes.size() - 1 - i], values[i]);",
        "dynamic_quant",
    ),
    Fault(
        "binding: a list of codes is to become floats",
        f"{BIND}/numpy_view.cpp",
        "name_of(list);",
        "name_of(DType::float16);",
        "errors",
    ),
    Fault(
        "binding: a quantized type of torch is no name of the dtype that stores it",
        f"{BIND}/bind_runtime.cpp",
        "{row.torch_codes.own, row.torch_codes.quantized}",
        "{row.torch_codes.own}",
        "dtypes",
    ),
    Fault(
        "binding: numerics is ignored",
        f"{BIND}/bind.cpp",
        "op.numerics = to_numerics(op.name, arguments[out + 1]);",
        "",
        "numerics",
    ),
]

C_API = [
    Fault(
        "aclnn: an attribute goes by the operator's own name",
        f"{ACLNN}/faults.cpp",
        "return in_camel_case(attribute);",
        "return attribute.empty() ? in_camel_case(attribute) : attribute;",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: a wrong shape has the code of an attribute",
        f"{ACLNN}/faults.cpp",
        "return function.shape_code;",
        "return function.attribute_code;",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: an argument goes by another name",
        f"{ACLNN}/add_rms_norm_quant.cpp",
        '("zeroPoints2Optional", zero_points2,',
        '("zeroPoints1Optional", zero_points2,',
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: two inputs are swapped",
        f"{ACLNN}/add_rms_norm_quant.cpp",
        '("scales2Optional", scales2, op.scales2)',
        '("scales2Optional", scales2, op.zero_points2)',
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: sqrtMode is ignored",
        f"{ACLNN}/anti_quant.cpp",
        "call.op.sqrt_mode = sqrtMode;",
        "",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: a handle that is gone becomes that of a newer object",
        f"{ACLNN}/registry.h",
        "if (++slots_[index].generation != 0)",
        "if (slots_[index].generation != 0)",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: an executor that is not repeatable runs twice",
        f"{ACLNN}/executor.cpp",
        "return !executor->is_repeatable;",
        "return false;",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: a new address is not checked",
        f"{ACLNN}/executor.cpp",
        "if (moved_) NPU_QUANT",
        "if (!moved_) NPU_QUANT",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: a workspace may be missing",
        f"{ACLNN}/executor.cpp",
        "workspace_size > 0 &&",
        "workspace_size < 0 &&",
        "aclnn",
        googletests_first=True,
    ),
    Fault(
        "aclnn: a tensor may run past its block by its offset",
        f"{ACLNN}/memory.cpp",
        "range.size <= real_size - offset",
        "range.size <= real_size",
        "aclnn",
        googletests_first=True,
    ),
]

PAGES = [
    Fault(
        "dtypes: quint8 is int8",
        f"{PYTHON}/dtypes.py",
        '"quint8": "uint8"',
        '"quint8": "int8"',
        "dtypes",
    ),
    Fault(
        "quantizer: out is ignored",
        f"{PYTHON}/quantizer.py",
        "self._quantizer.quantize(x, out, numerics)",
        "self._quantizer.quantize(x, None, numerics)",
        "quantizer",
    ),
    Fault(
        "quantizer: equal ones have hashes of their own",
        f"{PYTHON}/quantizer.py",
        "hash((self.scale(), self.zero_point(), self.scalar_type()))",
        "id(self)",
        "quantizer",
    ),
    Fault(
        "dynamic_quant: a field of the result has another name",
        f"{PYTHON}/ops/dynamic_quant.py",
        "    y: NDArray[Any]\n",
        "    codes: NDArray[Any]\n",
        "dynamic_quant",
    ),
    Fault(
        "errors: every code is the same",
        f"{PYTHON}/errors.py",
        "self.argument = code, caller",
        "self.argument = 161002, caller",
        "errors",
    ),
    Fault(
        "anti_quant: src_dtype is ignored",
        f"{PYTHON}/ops/anti_quant.py",
        "offset, dst_dtype, src_dtype, out,",
        "offset, dst_dtype, None, out,",
        "anti_quant",
    ),
    Fault(
        "numerics: any name is taken",
        f"{PYTHON}/_runtime.py",
        "_core.check_numerics(name)",
        "",
        "runtime errors",
    ),
]

FAULTS = [*BINDING, *C_API, *PAGES]
