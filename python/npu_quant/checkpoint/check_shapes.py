"""The rules of dtypes and shapes, by headers alone."""

from __future__ import annotations

from . import names
from .check_types import FP4, FP8, KNOWN
from .folder import FLOATS, Tensor
from .quantized import QuantizedModel
from .reports import Findings
from .schemes import COMPRESSED, FLOAT, GROUP, RUNS, TYPES, WIDTHS, Output, misfit, outputs_of

LEFTOVERS = [
    "weight_scale_inv",
    "weight_packed",
    "weight_shape",
    "weight_zero_point",
    "weight_g_idx",
    "qweight",
    "qzeros",
    "g_idx",
    "scales",
    "weight_global_scale",
]


def check_tensors(model: QuantizedModel, found: Findings) -> None:
    """Find tensors of wrong dtypes and shapes, and note them."""
    for name, tensor in model.tensors.items():
        _check_tensor(model, name, tensor, found)
    for module, type in model.types.items():
        weight = model.tensors.get(f"{module}.weight")
        if weight is None or type not in KNOWN:
            continue
        if len(weight.shape) != 2:
            text = f"has shape {weight.shape}, a weight of {type} has two axes: loading fails"
            _bad(model, "shape", weight.name, text, found)
            continue
        for output in _expected(model, module, type, weight):
            if output.name in model.tensors:
                _compare(model, output, type, found)
        _check_alignment(model, module, type, weight, found)


def _bad(model: QuantizedModel, rule: str, name: str, text: str, found: Findings) -> None:
    model.bad.add(name)
    found.error(rule, name, text)


def _check_tensor(model: QuantizedModel, name: str, tensor: Tensor, found: Findings) -> None:
    last = names.last_of(name)
    if last in LEFTOVERS:
        text = "is of another format: consumers have no parameter for it, loading fails"
        found.error("leftover", name, text)
    elif len(tensor.shape) == 3 and ".experts." in name:
        text = f"has shape {tensor.shape}: vllm-ascend loads experts one by one, in matrices"
        found.error("stacked-experts", name, text)
    elif last == "weight" and model.type_of(name) == FLOAT and model.is_typed:
        if tensor.kind not in FLOATS:
            text = f"is FLOAT, but its dtype is {tensor.kind}: codes are read as numbers"
            _bad(model, "dtype", name, text, found)
    elif last == "bias" and name.removesuffix(".bias") in model.types:
        weight = model.tensors.get(name.removesuffix("bias") + "weight")
        if tensor.kind not in FLOATS:
            _bad(model, "dtype", name, f"is {tensor.kind}, a bias is of floats", found)
        elif weight and len(tensor.shape) != 1:
            _bad(model, "shape", name, f"has shape {tensor.shape}, a bias has one axis", found)


def _expected(model: QuantizedModel, module: str, type: str, weight: Tensor) -> list[Output]:
    """Return what tensors a module should have, by the shape of its weight."""
    n, k = weight.shape
    scale = model.tensors.get(f"{module}.weight_scale")
    params = WIDTHS[model.params]
    if type in TYPES and model.format in TYPES[type].formats:
        is_packed = TYPES[type].codes == "int4" and model.is_ascend
        if is_packed and not (scale and scale.shape[:1] == (n,)):
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
    if type == "W8A8":
        kind = "I64" if model.params == "float16" else "F32"
        return [output("weight", "I8", n, k), output("deq_scale", kind, n)]
    return []


def _compare(model: QuantizedModel, output: Output, type: str, found: Findings) -> None:
    name, part = output.name, names.last_of(output.name)
    tensor = model.tensors[name]
    is_float = model.format == COMPRESSED and part == "weight_scale"
    allowed = ("BF16", "F16", "F32") if is_float else (output.kind,)
    if tensor.kind not in allowed:
        if part == "deq_scale":
            text = f"is {tensor.kind}, {model.params} models need {output.kind}"
            _bad(model, "static", name, f"{text}: npu_quant_matmul refuses it", found)
        elif type in FP4 and part == "weight" and tensor.kind == "F8_E4M3":
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
    n, k = weight.shape
    if type == "W4A8_DYNAMIC" and model.is_ascend:
        n *= 2
    why = {
        "blocks": f"{-(-k // GROUP)} blocks of {GROUP} columns: vllm-ascend reshapes pairs of them",
        "rows": f"{n} rows: vllm-ascend packs 8 int4 to a word",
        "columns": f"{k} columns: scale_bias is of {RUNS} equal runs of them",
    }
    fault = misfit(module, type, (n, k))
    if fault == "columns":
        model.bad.add(f"{module}.scale_bias")
    if fault:
        found.error("alignment", module, f"has {why[fault]}")
