"""The rules of tensors: what each is said to be, and whether its dtype and shape are of that."""

from __future__ import annotations

import re

from . import names
from .check_layers import shape_of
from .check_static import STATIC, check_parts
from .check_static import needed as needed_of_static
from .compressed import compressed_types, group_size_of
from .compressed_groups import UNKNOWN, parts_of
from .folder import FLOATS, Tensor
from .plan import DESCRIPTION, HEAD
from .quantized import PARTS, QuantizedModel
from .reports import Findings
from .schemes import (
    FLOAT,
    GROUP,
    INT8_ACTIVATIONS,
    TYPES,
    WIDTHS,
    Output,
    has_broken_runs,
    misfit,
    outputs_of,
)

MX = frozenset(["W8A8_MXFP8", "W4A8_MXFP", "W4A4_MXFP4", "W4A4_MXFP4_DUALSCALE"])
FP4 = frozenset(["W4A8_MXFP", "W4A4_MXFP4"])
FP8 = frozenset(["W8A8FP8_DYNAMIC", "WFP8AFP8_DYNAMIC"])
_OTHERS = names.words("""
    FLOAT W8A8 W8A8S W8A8SC W8A8_MIX W8A8_PDMIX W8A8_TIMESTEP W16A16S W16A16SC W4A16 W4A16_MXFP4
    W4A4_DYNAMIC W4A4_LAOS_DYNAMIC NF4 FLATQUANT C8 FAQuant
""")
_WRAPPED = re.compile(r"_(FLATQUANT|SVD)(?=_DYNAMIC$|$)")
"""What msmodelslim adds to the type of a Linear that it wraps."""
KNOWN = frozenset([*_OTHERS, *TYPES]) | MX | FP8
"""The types of AscendV1 that a consumer or msmodelslim knows."""
_RULED = FP4 | FP8 | STATIC
"""Types whose tensors are known here, beside those that quantize writes."""
PREFIXES = ("model.", "language_model.", "model.language_model.")


def check_described(model: QuantizedModel, found: Findings) -> None:
    """Find what is wrong with keys, and note each module's type."""
    if not model.is_ascend:
        model.types = compressed_types(model, found)
    elif model.is_typed:
        _check_keys(model, found)
        _check_meta(model, found)
        model.types = _types(model, found)
    _check_parts(model, found)
    _check_groups(model, found)
    for module, type in model.types.items():
        _check_allowed(model, module, type, found)
    types = {*model.types.values()}
    is_static = "W8A8" in types and not model.is_ascend  # which multiplies by float16 scales, too
    if (INT8_ACTIVATIONS & types or is_static) and model.params == "float16":
        text = "says float16, but npu_quant_matmul refuses float16 scales (EZ1001): say bfloat16"
        found.error("fp16", "config.json", text)


_SETTING = re.compile(r"(\w+_)?(quant|cache)_type|version|group_size|metadata|optional|wq_b_weight")
"""The last names of keys that are settings, of the model or of an attention, which msmodelslim
writes or vllm-ascend looks up: no tensor belongs to them."""
KEYLESS = ("heads_rotation", "kronecker_rotation_m", "kronecker_rotation_n")
"""The last names of tensors that msmodelslim writes without a key."""


def _is_key(name: str, value: object) -> bool:
    return "." in name and isinstance(value, str) and not _is_setting(name)


def _is_setting(name: str) -> bool:
    return _SETTING.fullmatch(names.last_of(name)) is not None


def _check_keys(model: QuantizedModel, found: Findings) -> None:
    _mend_prefix(model, found)
    for name in dict.fromkeys([*model.tensors, HEAD]):
        if name not in model.keys:
            if names.last_of(name) in KEYLESS:
                continue
            if name == HEAD and any(key.endswith(f".{HEAD}") for key in model.keys):
                continue
            text = f"has no key in {DESCRIPTION}: vLLM ends with KeyError for Linears and lm_head"
            found.error("missing-key", name, text)
    for name, value in model.keys.items():
        if not _is_key(name, value) or name in model.tensors or name in model.lost:
            continue
        if name != HEAD or not (model.config.may_be_tied or names.has_head(model.tensors)):
            text = f"has a key in {DESCRIPTION}, but no tensor: its parameter stays uninitialised"
            found.error("missing-tensor", name, text)


def _mend_prefix(model: QuantizedModel, found: Findings) -> None:
    """Report once that all keys lack or have a prefix, and go on with the right keys."""
    missing = [name for name in model.tensors if name not in model.keys]
    for prefix in PREFIXES if len(missing) > 1 else ():
        lacking = {n.removeprefix(prefix): n for n in [*missing, HEAD]}
        having = {prefix + n: n for n in [*missing, HEAD]}
        for what, back in (("lack", lacking), ("have", having)):
            if {n for key, n in back.items() if key in model.keys and key != n} >= {*missing}:
                text = f"its keys {what} the prefix {prefix!r} against the tensors: vLLM ends"
                found.error("prefix", DESCRIPTION, f"{text} with KeyError")
                model.keys = {back.get(k, k): v for k, v in model.keys.items()}
                return


def _check_meta(model: QuantizedModel, found: Findings) -> None:
    for name in ("version", "model_quant_type", "group_size"):
        if name not in model.keys:
            text = f"is not in {DESCRIPTION}: consumers take the default of older formats"
            found.warning("meta", name, text)
    if "group_size" not in model.keys:
        return
    types = {v for k, v in model.keys.items() if _is_key(k, v)}
    size = model.keys["group_size"]
    if types & MX and size != 32:
        text = f"is {size!r:.30}, must be 32 with MX types: consumers share a scale by it"
        found.error("meta", "group_size", text)
    elif "W4A8_DYNAMIC" in types and size != 0:
        text = f"is {size!r:.30}, must be 0 with W4A8_DYNAMIC: vllm-ascend looks for group scales"
        found.error("meta", "group_size", text)


def _types(model: QuantizedModel, found: Findings) -> dict[str, str]:
    result = {}
    reported = set()
    for name, type in model.keys.items():
        if not _is_key(name, type):
            if "." in name and not _is_setting(name):
                text = f"is of type {type!r:.60}, which is not a string: vLLM refuses the model"
                found.error("unknown-type", name, text)
            continue
        module, _, last = name.rpartition(".")
        if _WRAPPED.sub("", type) not in KNOWN and (module, type) not in reported:
            reported.add((module, type))
            text = f"is of type {type!r:.60}, which AscendV1 does not have: vLLM refuses the model"
            found.error("unknown-type", module, text)
        is_copy = names.last_of(module) == "module" and names.is_norm(module.rpartition(".")[0])
        is_only = last == "weight_scale" and f"{module}.weight" not in model.keys
        if (last == "weight" or is_only) and type != FLOAT and not is_copy:
            result[module] = type
            if type == "WFP8AFP8_DYNAMIC":
                text = f"is of type {type}: vllm-ascend knows W8A8FP8_DYNAMIC"
                found.warning("unknown-type", module, text)
    return result


def has_rules(model: QuantizedModel, type: str) -> bool:
    """Say whether it is known which tensors a module of a type has."""
    if not model.is_ascend:
        return bool(parts_of(type, 1, 1))
    is_written = type in TYPES and model.format in TYPES[type].formats
    return is_written or type in _RULED


def needed(model: QuantizedModel, type: str) -> list[str]:
    """Return the last names of the tensors that a module of a type must have."""
    if not model.is_ascend:
        return [*parts_of(type, 1, 1)]
    if type in TYPES and model.format in TYPES[type].formats:
        outputs = outputs_of("", type, (2, 1), model.format, WIDTHS[model.params])
        return [output.name[1:] for output in outputs]
    if type in STATIC and model.is_ascend:
        return needed_of_static(type)
    return ["weight", "weight_scale"] if type in MX | FP8 else ["weight"]


def _check_parts(model: QuantizedModel, found: Findings) -> None:
    for module, type in model.types.items():
        for part in needed(model, type):
            name = f"{module}.{part}"
            if name in model.tensors or name in model.lost or name in model.keys:
                continue  # a key without a tensor has been reported
            text = f"is missing, and {type} needs it: its parameter stays uninitialised"
            found.error("missing-tensor", name, text)
    for name, tensor in model.tensors.items():
        module, _, last = name.rpartition(".")
        weight = model.tensors.get(f"{module}.weight")
        is_float = weight and weight.kind != "I8" and module not in model.types
        if last in PARTS[1:] and is_float and model.is_typed and tensor.kind != "I8":
            text = "stands beside a FLOAT weight: consumers have no parameter for it"
            found.error("leftover", name, text)


def _check_groups(model: QuantizedModel, found: Findings) -> None:
    modules = names.modules_of(model.tensors)
    for what, members in names.fused_groups(modules, model.config.model_type):
        types = sorted({model.types.get(m, FLOAT) for m in members})
        if len(types) > 1 and model.is_typed:
            text = (
                f"are {' and '.join(types)}, in one layer of consumers: vLLM ends with ValueError"
            )
            found.error("mixed-group", what, text)
    check_inputs(model, found)


def check_inputs(model: QuantizedModel, found: Findings) -> None:
    """Find quantized parts of one layer of consumers that take different numbers of inputs."""
    modules = [m for m in model.types if (w := model.matrix(m)) and len(w.shape) == 2]
    for what, members in names.sharing_groups(modules, model.config.model_type):
        inputs = {names.last_of(m): shape_of(model, m)[1] for m in members}
        if len({*inputs.values()}) > 1:
            each = ", ".join(f"{last} {k}" for last, k in inputs.items())
            text = f"take different numbers of inputs ({each}): consumers load them into one tensor"
            found.error("shape", what, text)


def _check_allowed(model: QuantizedModel, module: str, type: str, found: Findings) -> None:
    last, is_expert = names.last_of(module), names.experts_of(module) is not None
    if never := names.never(module, model.config.model_type):
        why = f"is quantized, but {never}: consumers stop, or read its codes as numbers silently"
    elif last in names.HEADS and last != names.HEAD:
        why = "a router or classifier is quantized: consumers have no parameters for its scales"
    elif names.is_norm(module):
        why = "a norm is quantized: consumers have no parameters for its scales"
    elif type in STATIC | {"W8A16"} and is_expert:
        why = f"experts are {type}: vllm-ascend has no such layer of experts"
    elif type == "W4A8_DYNAMIC" and not is_expert:
        why = "W4A8_DYNAMIC elsewhere than in routed experts: vllm-ascend has no such Linear"
    elif last == names.HEAD or names.is_embedding_or_norm(module):
        text = f"is {type}: sglang and MindIE cannot read quantized embeddings and heads"
        found.warning("forbidden-type", module, text)
        return
    else:
        return
    found.error("forbidden-type", module, why)


LEFTOVERS = names.words("""
    weight_scale_inv weight_packed weight_shape weight_zero_point weight_g_idx weight_global_scale
    qweight qzeros g_idx scales input_zero_point input_global_scale
""")


def check_shapes(model: QuantizedModel, found: Findings) -> None:
    """Find tensors of wrong dtypes and shapes, and note them."""
    for name, tensor in model.tensors.items():
        _check_tensor(model, name, tensor, found)
    for module, type in model.types.items():
        weight = model.matrix(module)
        if weight is None or not has_rules(model, type):
            continue
        if len(weight.shape) != 2:
            text = f"has shape {weight.shape}, a weight of {type} has two axes: loading fails"
            _bad(model, "shape", weight.name, text, found)
            continue
        if type in STATIC and model.is_ascend:
            check_parts(model, module, weight, found)
        for output in _expected(model, module, type, weight):
            if output.name in model.tensors:
                _compare(model, output, type, found)
        _check_alignment(model, module, type, weight, found)


def _bad(model: QuantizedModel, rule: str, name: str, text: str, found: Findings) -> None:
    model.bad.add(name)
    found.error(rule, name, text)


def _check_tensor(model: QuantizedModel, name: str, tensor: Tensor, found: Findings) -> None:
    module, _, last = name.rpartition(".")
    type = model.types.get(module, FLOAT)
    if last in LEFTOVERS and type != UNKNOWN and last not in needed(model, type):
        text = "is of another format: consumers have no parameter for it, loading fails"
        found.error("leftover", name, text)
    elif len(tensor.shape) == 3 and ".experts." in name:
        text = f"has shape {tensor.shape}: vllm-ascend loads experts one by one, in matrices"
        found.error("stacked-experts", name, text)
    elif last == "weight" and model.type_of(name) == FLOAT and model.is_typed:
        if tensor.kind not in FLOATS:
            text = f"is FLOAT, but its dtype is {tensor.kind}: codes are read as numbers"
            _bad(model, "dtype", name, text, found)
    elif last == "bias" and type != FLOAT:
        weight = model.tensors.get(name.removesuffix("bias") + "weight")
        if tensor.kind not in FLOATS:
            _bad(model, "dtype", name, f"is {tensor.kind}, a bias is of floats", found)
        elif weight and len(tensor.shape) != 1:
            _bad(model, "shape", name, f"has shape {tensor.shape}, a bias has one axis", found)
        elif weight and len(weight.shape) == 2 and tensor.shape != shape_of(model, module)[:1]:
            rows = shape_of(model, module)[0]
            text = f"has shape {tensor.shape}, its weight has {rows} rows: loading fails"
            _bad(model, "shape", name, text, found)


def _expected(model: QuantizedModel, module: str, type: str, weight: Tensor) -> list[Output]:
    if not model.is_ascend:
        return _expected_compressed(model, module, type)
    n, k = weight.shape
    scale = model.tensors.get(f"{module}.weight_scale")
    params = WIDTHS[model.params]
    if type in TYPES and model.format in TYPES[type].formats:
        if TYPES[type].codes == "int4" and not (scale and scale.shape[:1] == (n,)):
            n *= 2
        return [*outputs_of(module, type, (n, k), model.format, params)]

    def output(part: str, kind: str, *shape: int) -> Output:
        return Output(f"{module}.{part}", kind, shape)

    if type in FP4:
        k *= 2
        rest = output("weight_scale", "U8", n, -(-k // GROUP))
        return [output("weight", "U8", n, k // 2), rest]
    if type in FP8:
        return [output("weight", "F8_E4M3", n, k), output("weight_scale", "F32", n, 1)]
    return []


def _expected_compressed(model: QuantizedModel, module: str, type: str) -> list[Output]:
    """What is there, where that is one of the dtypes and shapes that consumers read."""
    result, shape = [], shape_of(model, module)
    for part, allowed in parts_of(type, *shape, group_size_of(model)).items():
        name = f"{module}.{part}"
        tensor = model.tensors.get(name)
        kinds, shapes = allowed
        kind = tensor.kind if tensor and tensor.kind in kinds else kinds[0]
        extents = tensor.shape if tensor and tensor.shape in shapes else shapes[0]
        result.append(Output(name, kind, extents))
    return result


def _compare(model: QuantizedModel, output: Output, type: str, found: Findings) -> None:
    name, part = output.name, names.last_of(output.name)
    tensor = model.tensors[name]
    if tensor.kind != output.kind:
        if type in FP4 and part == "weight" and tensor.kind == "F8_E4M3":
            text = "has fp4 codes in e4m3 bytes: twice the size, and vllm-ascend wants U8 [N,K/2]"
            _bad(model, "dtype", name, text, found)
            return
        else:
            text = f"is {tensor.kind}, {type} has {output.kind}: consumers convert or misread it"
            _bad(model, "dtype", name, text, found)
    if tensor.shape != output.shape and part == "weight":
        text = f"has shape {tensor.shape}, {type} has {output.shape}: is it unpacked int4?"
        _bad(model, "shape", name, f"{text} Loading fails", found)
    elif tensor.shape != output.shape:
        text = f"has shape {tensor.shape}, its weight needs {output.shape}: loading fails"
        _bad(model, "shape", name, text, found)


def _check_alignment(
    model: QuantizedModel, module: str, type: str, weight: Tensor, found: Findings
) -> None:
    n, k = shape_of(model, module)
    if has_broken_runs(module, k):
        model.bad.add(f"{module}.scale_bias")
    if fault := misfit(module, type, (n, k)):
        found.error("alignment", module, f"has {fault}")
