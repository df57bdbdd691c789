"""The rules of static W8A8: a scale and an offset for all activations, and what follows of them.

msmodelslim writes, and vllm-ascend reads, of each Linear::

    deq_scale  = input_scale * weight_scale                                  [N]
    quant_bias = round(bias / deq_scale - sum(q) * input_offset)             [N], sums of rows

weight_scale itself may be there, too; where it is not, deq_scale / input_scale is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files.safetensors import NUMPY
from . import names
from .folder import FLOATS, Tensor
from .matrices import bands, bytes_of
from .quantized import QuantizedModel
from .reports import Findings
from .weights import DTYPES

if TYPE_CHECKING:
    from .originals import Original

STATIC_ONLY = frozenset(["W8A8", "W8A8S"])
STATIC = STATIC_ONLY | {"W8A8_MIX"}
"""Types of Linears whose activations have one scale; W8A8_MIX is W8A8_DYNAMIC, too."""
NEEDED = ["weight", "input_scale", "input_offset", "quant_bias", "deq_scale"]
NUMBERS = (*FLOATS, "I8", "I32", "I64")
_ROUNDING = {
    "bfloat16": (2.0**-8, 2.0**-134),
    "float16": (2.0**-11, 2.0**-25),
    "float32": (2.0**-24, 2.0**-150),
}
"""The greatest error of rounding to a dtype: relative, and of subnormal numbers."""
_DTYPES = {**DTYPES, "float32": np.float32}
_KINDS = {"BF16": "bfloat16", "F16": "float16"}
_MLP = names.words("gate_proj up_proj down_proj gate_up_proj w1 w2 w3")
_BIASED = {
    **dict.fromkeys(("attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias"), (False,)),
    "mlp_bias": (True,),
    **dict.fromkeys(("use_bias", "add_bias_linear", "bias"), (False, True)),
}
"""Keys of config.json that give Linears biases: those of the attention, of the MLP, or of both."""


def is_static(model: QuantizedModel, module: str) -> bool:
    """Say whether a module has the tensors of static W8A8."""
    return model.is_ascend and model.types.get(module) in STATIC


def needed(type: str) -> list[str]:
    """Return the last names of the tensors that a module of a static type must have."""
    return [*NEEDED, "weight_scale", "weight_offset"] if type == "W8A8_MIX" else NEEDED


def check_parts(model: QuantizedModel, module: str, weight: Tensor, found: Findings) -> None:
    """Find dtypes and shapes of a static module that consumers do not read, and note them."""
    rows = weight.shape[0]
    is_half = model.params == "float16"
    expected: dict[str, tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]] = {
        "weight": (("I8",), (weight.shape,)),
        "deq_scale": (("I64",) if is_half else ("F32", "BF16", "F16"), ((rows,),)),
        "quant_bias": (("I32",), ((rows,),)),
        "input_scale": (FLOATS, ((1,), ())),
        "input_offset": (NUMBERS, ((1,), ())),
        "weight_scale": (FLOATS, ((rows, 1),)),
        "weight_offset": (NUMBERS, ((rows, 1),)),
    }
    for part, (kinds, shapes) in expected.items():
        if (tensor := model.tensors.get(f"{module}.{part}")) is None:
            continue
        if tensor.kind not in kinds:
            model.bad.add(tensor.name)
            text = f"is {tensor.kind}, {model.params} models need {' or '.join(kinds)}"
            rule = "static" if part == "deq_scale" else "dtype"
            found.error(rule, tensor.name, f"{text}: consumers convert or misread it")
        if tensor.shape not in shapes:
            model.bad.add(tensor.name)
            text = f"has shape {tensor.shape}, {model.types[module]} has {shapes[0]}"
            found.error("shape", tensor.name, f"{text}: loading fails")


def has_own_scale(model: QuantizedModel, module: str) -> bool:
    """Say whether the weight_scale of a static module is there, and can be read."""
    return model.part(module, "weight_scale") is not None


def has_scale(model: QuantizedModel, module: str) -> bool:
    """Say whether the scale of a static module's weight is known."""
    parts = [model.part(module, part) for part in ("deq_scale", "input_scale")]
    return has_own_scale(model, module) or all(parts)


def scales_of(
    model: QuantizedModel, module: str
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return the scales of rows [N, 1] of a static module, and how far each may be off.

    A product may have been rounded to a dtype, and its factor before: the quotient by input_scale
    has the errors of both. A weight_scale that is there is exact: None.
    """
    if has_own_scale(model, module):
        return numbers(model, model.tensors[f"{module}.weight_scale"]).reshape(-1, 1), None
    step_of = model.tensors[f"{module}.input_scale"]
    deq, step = numbers(model, model.tensors[f"{module}.deq_scale"]), numbers(model, step_of)
    relative, least = _rounding(deq)
    of_step, _ = _rounding_of(step_of)
    scale = (deq / step).reshape(-1, 1)
    return scale, 1.01 * ((2 * relative + of_step) * np.abs(scale) + least / np.abs(step) + least)


def numbers(model: QuantizedModel, tensor: Tensor) -> NDArray[np.float32]:
    """Return all elements of a small tensor; an int64 holds a float32 in its low 32 bits."""
    return values_of(bytes_of(model.folder, tensor, 0, tensor.size), tensor)


def values_of(raw: NDArray[np.uint8], tensor: Tensor) -> NDArray[np.float32]:
    """Return the elements that bytes hold, as :func:`numbers` does."""
    if tensor.kind == "I64" and tensor.name.endswith("deq_scale"):
        return raw.view(np.int64).astype(np.uint32).view(np.float32)
    return raw.view(NUMPY[tensor.kind]).astype(np.float32)


def _rounding_of(tensor: Tensor) -> tuple[float, float]:
    return _ROUNDING[_KINDS.get(tensor.kind, "float32")]


def _rounding(values: NDArray[np.float32]) -> tuple[float, float]:
    """Return the greatest errors of the dtypes that have all of these values."""
    held = [errors for dtype, errors in _ROUNDING.items() if _is_in(values, dtype)]
    relative, least = zip(*held, _ROUNDING["float32"], strict=True)
    return max(relative), max(least)


def _is_in(values: NDArray[np.float32], dtype: str) -> bool:
    return bool((values.astype(_DTYPES[dtype]).astype(np.float32) == values).all())


def unusable(model: QuantizedModel, part: str, values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which elements of a part of a static module make nothing of outputs.

    vllm-ascend reads input_scale in the params dtype, and multiplies by its reciprocal there; it
    reads input_offset as int8.
    """
    if part == "input_offset":
        return np.asarray(~((values >= -128) & (values <= 127) & (values == np.rint(values))))
    good = (values > 0) & np.isfinite(values)
    if part == "input_scale":
        read = values.astype(DTYPES[model.params])
        inverse = (np.float32(1) / read.astype(np.float32)).astype(DTYPES[model.params])
        good &= (read > 0) & np.isfinite(read.astype(np.float32))
        good &= np.isfinite(inverse.astype(np.float32))
    return np.asarray(~good)


def wrong_products(model: QuantizedModel, module: str) -> NDArray[np.bool_]:
    """Return which deq_scale are not input_scale * weight_scale, where all three are there."""
    parts = [model.part(module, p) for p in ("deq_scale", "input_scale", "weight_scale")]
    deq, x, w = (numbers(model, p).astype(np.float64) for p in parts if p is not None)
    _, least = _rounding(deq.astype(np.float32))
    allowed = 2.0**-7 * np.abs(x * w) + least * (1 + np.abs(x))
    return np.asarray(~(np.abs(deq - x * w) <= allowed))


class Biases:
    """The quant_bias of a static module, and what it must be, by bands of rows.

    The bias is the folder's, else the original's, else none. msmodelslim writes it beside
    quant_bias; vllm-ascend reads only the latter.
    """

    def __init__(self, model: QuantizedModel, original: Original | None, module: str) -> None:
        self._model, self._weight = model, model.tensors[f"{module}.weight"]
        self._deq = numbers(model, model.tensors[f"{module}.deq_scale"]).astype(np.float64)
        (self._offset,) = numbers(model, model.tensors[f"{module}.input_offset"])
        stored = model.tensors[f"{module}.quant_bias"]
        self._stored = bytes_of(model.folder, stored, 0, stored.size).view(np.int32)
        self._rounding, _ = _rounding(self._deq.astype(np.float32))
        bias = self._read_bias(original, f"{module}.bias")
        is_whole = bias is not None and len(bias) == len(self._deq)
        self._bias = bias if bias is not None and is_whole else np.zeros(len(self._deq))
        self.is_known = is_whole or original is not None or not _may_have_bias(model, module)
        """Whether the bias is: config.json may say that there is one, which is not here."""

    def _read_bias(self, original: Original | None, name: str) -> NDArray[np.float64] | None:
        source = original.sources.get(name) if original is not None else None
        for folder, tensor in (
            (self._model.folder, self._model.part(*name.rsplit(".", 1))),
            (original.folder if original else None, source),
        ):
            if folder is not None and isinstance(tensor, Tensor) and tensor.kind in FLOATS:
                self._rounding = max(self._rounding, _rounding_of(tensor)[0])
                raw = bytes_of(folder, tensor, 0, tensor.size)
                return values_of(raw, tensor).astype(np.float64)
        return None

    def wrong(self, begin: int, end: int) -> tuple[NDArray[np.bool_], bool]:
        """Return which of some rows are not what they must be, and whether it is for want of sums.

        The quotient was rounded to the dtype of its factors; the products and the difference in
        float32; the result to a whole number.
        """
        k, rows = self._weight.shape[1], slice(begin, end)
        sums = np.empty(end - begin, np.int64)
        for at, to in bands(begin, end, k):
            codes = bytes_of(self._model.folder, self._weight, at * k, (to - at) * k)
            sums[at - begin : to - begin] = codes.view(np.int8).reshape(-1, k).sum(1, np.int64)
        correction = sums * np.float64(self._offset)
        quotient = self._bias[rows] / self._deq[rows]
        off = self._stored[rows] - (quotient - correction)
        allowed = 0.5 + np.abs(quotient) * self._rounding
        allowed += 2.0**-23 * (np.abs(quotient) + np.abs(correction))
        wrong = ~(np.abs(off) <= allowed)
        # What a bias that is not here would add has nothing to do with the sums of codes.
        lengths = float(np.sqrt((off**2).sum() * (correction**2).sum()))
        return wrong, bool(np.abs((off * correction).sum()) > 0.9 * lengths > 0)


def _may_have_bias(model: QuantizedModel, module: str) -> bool:
    data: dict[str, Any] = model.config.data
    texts = [data, *(v for v in data.values() if isinstance(v, dict))]
    where = [places for text in texts for k, places in _BIASED.items() if text.get(k) is True]
    if model.config.model_type.startswith("qwen2"):  # which has no key for it
        where.append((False,))
    return any((names.last_of(module) in _MLP) in places for places in where)


class Input(NamedTuple):
    """A static module whose scale and offset of activations are read."""

    module: str
    size: int = 0


def _sharing(model: QuantizedModel) -> Iterator[tuple[str, list[str]]]:
    return names.sharing_groups(names.modules_of(model.tensors), model.config.model_type)


def inputs_of(model: QuantizedModel) -> Iterator[Input]:
    """Yield the static modules that consumers fuse with others."""
    for _, members in _sharing(model):
        yield from (Input(m) for m in members if model.types.get(m) in STATIC)


def input_of(model: QuantizedModel, task: Input) -> dict[str, float]:
    """Return a module's scale and offset of activations, as consumers read them."""
    result = {}
    for part in ("input_scale", "input_offset"):
        tensor = model.part(task.module, part)
        if tensor is not None and tensor.shape in ((1,), ()):  # or it has been reported
            (read,) = numbers(model, tensor)
            as_read = DTYPES[model.params] if part == "input_scale" else np.float32
            result[part] = float(read.astype(as_read))
    return result


def check_shared(
    model: QuantizedModel, seen: Iterable[tuple[Input, dict[str, float]]], found: Findings
) -> None:
    """Find fused Linears whose parts have different scales or offsets of their one activation."""
    inputs = {task.module: read for task, read in seen}
    for what, members in _sharing(model):
        for part in ("input_scale", "input_offset"):
            said = {m: inputs[m][part] for m in members if part in inputs.get(m, ())}
            if len({n for n in said.values() if n == n}) > 1:  # NaN is reported for itself
                values = ", ".join(f"{names.last_of(m)} {n:.6g}" for m, n in said.items())
                text = f"have different {part} ({values}): consumers load them into one element"
                found.error("static", what, f"{text}, where the last serves all")


def static_modules(model: QuantizedModel) -> Iterator[str]:
    """Yield the static modules that have what quant_bias follows of."""
    for module in model.types:
        parts = [model.part(module, part) for part in NEEDED]
        if is_static(model, module) and all(p is not None and 0 not in p.shape for p in parts):
            yield module
