"""The rules of values: scales, offsets and numbers, read in bands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes
from ..files.safetensors import NUMPY
from . import check_static
from .check_static import NUMBERS, STATIC
from .folder import FLOATS, Tensor
from .matrices import bands, bytes_of, pieces
from .names import last_of
from .quantized import QuantizedModel
from .reports import Findings
from .schemes import ASCEND, COMPRESSED, FLOAT
from .weights import DTYPES

if TYPE_CHECKING:
    from .originals import Original

SLACK = 2.0**-20
CACHES = ("C8", "FAQuant")
"""Types of scales and offsets of keys and values, which are of no module's weight."""
_PARTS = ("input_scale", "input_offset", "deq_scale")
"""Of static modules: what they hold is judged by :func:`check_static.unusable`."""
_ROUNDED = {
    ASCEND: ("W8A8_DYNAMIC", "W8A16"),
    COMPRESSED: ("W8A8", "W8A8_DYNAMIC", "W4A8_DYNAMIC", "W4A16"),
}
"""The types whose scales vllm-ascend reads in the params dtype."""


class Values(NamedTuple):
    """Bytes, or rows of a module, whose values one task looks at."""

    rule: str
    name: str
    begin: int
    end: int
    size: int


class Seen(NamedTuple):
    """What a task saw: how many values are bad, the first of them, and the farthest off."""

    number: int = 0
    first: int = -1
    most: float = 0.0


def tasks_of(model: QuantizedModel) -> Iterator[Values]:
    """Yield what is to be looked at."""
    for name in filter(model.is_readable, model.tensors):
        tensor, module = model.tensors[name], name.rpartition(".")[0]
        for rule in _rules_of(model, name, tensor):
            if rule == "scale-bias":
                yield from _bias_tasks(model, module)
            else:
                for begin, end in pieces(0, tensor.size, 1):
                    yield Values(rule, name, begin, end, end - begin)
    for module in check_static.static_modules(model):
        if model.part(module, "weight_scale") is not None:
            yield Values("product", module, 0, 1, 0)
        n, k = model.tensors[f"{module}.weight"].shape
        for begin, end in pieces(0, n, k):
            yield Values("quant-bias", module, begin, end, (end - begin) * k)


def _rules_of(model: QuantizedModel, name: str, tensor: Tensor) -> tuple[str, ...]:
    last, type, kind = last_of(name), model.type_of(name), tensor.kind
    if last in _PARTS and type in STATIC and model.is_ascend and kind in NUMPY:
        return ("static",)
    if last.endswith("scale") and model.keys.get(name) in CACHES and kind in FLOATS:
        return ("scale",)
    if last in ("weight_scale", "input_scale") and type != FLOAT and kind in NUMPY:
        is_rounded = last == "weight_scale" and type in _ROUNDED[model.format]
        return ("scale", "scale-precision") if is_rounded and kind == "F32" else ("scale",)
    if last == "weight" and type != FLOAT and kind == "F8_E4M3":
        return ("nonfinite",)
    if last == "weight" and type == "W4A8_DYNAMIC" and not model.is_ascend and kind == "I8":
        return ("int4",)
    if last == "weight_offset" and kind in NUMBERS:
        return ("offset",)
    if type == FLOAT and kind in FLOATS:
        return ("nonfinite",)
    if last == "scale_bias" and type == "W4A8_DYNAMIC" and model.is_ascend:
        return ("scale-bias",)
    return ()


def _bias_tasks(model: QuantizedModel, module: str) -> Iterator[Values]:
    weight = model.part(module, "weight")
    if weight is not None and model.part(module, "weight_scale") is not None:
        for begin, end in pieces(0, weight.shape[0], weight.shape[1]):
            yield Values("scale-bias", module, begin, end, (end - begin) * weight.shape[1])


def look(model: QuantizedModel, original: Original | None, task: Values) -> Seen:
    """Look at the values of a task; an original tells the biases that are not in the folder."""
    if task.rule == "scale-bias":
        return _bias(model, task)
    if task.rule == "product":
        return _seen(check_static.wrong_products(model, task.name), 0)
    if task.rule == "quant-bias":
        biases = check_static.Biases(model, original, task.name)
        wrong, is_sum = biases.wrong(task.begin, task.end)
        seen = _seen(wrong, task.begin)
        return seen._replace(most=float(biases.is_known or is_sum)) if seen.number else seen
    tensor = model.tensors[task.name]
    total = Seen()
    for begin, end in bands(task.begin, task.end, 1):
        raw = bytes_of(model.folder, tensor, begin, end - begin)
        bad, most = _bad(model, task.rule, tensor, raw)
        if bad.any():
            first = begin // NUMPY[tensor.kind].itemsize + int(bad.argmax())
            total = _merged(total, Seen(int(bad.sum()), first, most))
    return total


def _merged(a: Seen, b: Seen) -> Seen:
    """Return what was seen of one stretch and of a later one."""
    first = a.first if a.first >= 0 else b.first
    return Seen(a.number + b.number, first, max(a.most, b.most))


def _bad(
    model: QuantizedModel, rule: str, tensor: Tensor, raw: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], float]:
    if tensor.kind == "U8" and rule != "static":  # E8M0
        return raw == 255, 0.0
    if tensor.kind == "F8_E4M3":
        return raw & 127 == 127, 0.0
    if rule == "static":
        values = check_static.values_of(raw, tensor)
        return check_static.unusable(model, last_of(tensor.name), values), 0.0
    values = raw.view(NUMPY[tensor.kind]).astype(np.float32)
    if rule == "nonfinite":
        return ~np.isfinite(values), 0.0
    if rule == "scale":
        return ~((values > 0) & np.isfinite(values)), 0.0
    if rule == "int4":
        return (values < -8) | (values > 7), 0.0
    if rule == "offset":
        return values != 0, float(not np.isfinite(values).all())
    read = values.astype(DTYPES[model.params]).astype(np.float32)
    bad = np.isfinite(values) & (values > 0) & (values != read)
    ulps = np.abs(values - read)[bad] / np.spacing(np.abs(values[bad]))
    return bad, float(ulps.max(initial=0))


def _bias(model: QuantizedModel, task: Values) -> Seen:
    weight, scale, bias = (
        model.tensors[f"{task.name}.{p}"] for p in ("weight", "weight_scale", "scale_bias")
    )
    k, runs, total = weight.shape[1], bias.shape[1], Seen()
    for begin, end in bands(task.begin, task.end, k):
        rows = end - begin
        packed = bytes_of(model.folder, weight, begin * k, rows * k).view(np.int8).reshape(rows, k)
        q = _codes.int4_of(packed.T).T.reshape(2 * rows, runs, k // runs)
        s, b = (
            bytes_of(model.folder, t, begin * 8 * w, rows * 8 * w).view(np.float32).reshape(-1, w)
            for t, w in ((scale, 1), (bias, runs))
        )
        expected = 8.0 * q.sum(axis=2, dtype=np.int64) * s.astype(np.float64)
        allowed = 8.0 * np.abs(q).sum(axis=2, dtype=np.int64) * np.abs(s) * SLACK
        bad = ~(np.abs(b - expected) <= allowed)
        if bad.any():
            first = 2 * begin * runs + int(bad.argmax())
            total = _merged(total, Seen(int(bad.sum()), first // runs))
    return total


def _seen(bad: NDArray[np.bool_], begin: int) -> Seen:
    return Seen(int(bad.sum()), begin + int(bad.argmax())) if bad.any() else Seen()


TEXTS = {
    "U8": "scales are 255, NaN in E8M0: their blocks become NaN",
    "F8_E4M3": "codes are 127 or 255, NaN in E4M3: their rows become NaN",
    "scale": "scales are NaN, infinite, zero or negative: rows become NaN or nothing",
    "offset": "offsets are not zero: vllm-ascend passes them on for W8A16, else ignores them",
    "nonfinite": "values are NaN or infinite: they spread through the layer",
    "int4": "codes are outside -8..7: vllm-ascend keeps their low four bits only",
    "deq_scale": "values are NaN, infinite, zero or negative: outputs become NaN or nothing",
    "input_scale": "values, or their reciprocals, are no positive numbers in the params dtype: "
    "activations become NaN or nothing",
    "input_offset": "values are no whole numbers of -128..127: activations saturate or shift",
    "product": "values are not input_scale * weight_scale: outputs are scaled wrongly",
    "quant-bias": "values are not round(bias / deq_scale - sum(q) * input_offset): "
    "outputs are shifted by them",
    "scale-bias": "values are not 8 * sum(q) * s: int4 kernels shift the outputs by them",
}


def report(model: QuantizedModel, seen: Iterable[tuple[Values, Seen]], found: Findings) -> None:
    """Add what the tasks saw of each tensor."""
    every: dict[tuple[str, str], Seen] = {}
    for task, one in seen:
        key = task.rule, task.name
        every[key] = _merged(every.get(key, Seen()), one)
    precision = Seen()
    first = ""
    for (rule, name), s in every.items():
        if rule == "scale-precision" and s.number:
            precision, first = _merged(precision, s), first or name
        elif s.number:
            _report_one(model, rule, name, s, found)
    if precision.number:
        text = f"{precision.number} scales change when read in {model.params}, as vllm-ascend"
        text += f" does, by up to {precision.most:.0f} ulp of float32"
        found.warning("scale-precision", first, text)


_OF_MODULES = {
    "product": ("static", "deq_scale"),
    "scale-bias": ("scale-bias", "scale_bias"),
    "quant-bias": ("quant-bias", "quant_bias"),
}
"""The rule and the tensor of findings about a module's tensors together."""


def _report_one(model: QuantizedModel, rule: str, name: str, s: Seen, found: Findings) -> None:
    kind = model.tensors[name].kind if name in model.tensors else ""
    said = TEXTS[last_of(name) if rule == "static" else rule]
    text = f"{s.number} {said if rule == 'static' else TEXTS.get(kind, said)}"
    if rule == "quant-bias" and not s.most:
        text += ", unless a bias was, which the folder lacks: --original DIR tells it"
        found.warning(rule, f"{name}.quant_bias", f"{text}; the first is number {s.first}")
        return
    text += f"; the first is number {s.first}"
    if rule == "offset" and s.most:
        found.error(rule, name, f"{text}; some are NaN or infinite")
    elif rule in ("offset", "nonfinite") and kind != "F8_E4M3":
        found.warning(rule, name, text)
    elif rule in _OF_MODULES:
        called, part = _OF_MODULES[rule]
        found.error(called, f"{name}.{part}", text)
    elif rule == "static" and last_of(name) != "input_offset":
        found.error("scale", name, text)
    else:
        found.error(rule, name, text)
