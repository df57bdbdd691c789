"""The rules of values: scales, offsets and numbers, read in bands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes
from ..files.safetensors import NUMPY
from .folder import FLOATS, Tensor
from .matrices import bands, bytes_of, pieces
from .names import last_of
from .quantized import QuantizedModel
from .reports import Findings
from .schemes import FLOAT
from .weights import DTYPES

SLACK = 2.0**-20
NUMBERS = (*FLOATS, "I8", "I32", "I64")


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
            if rule == "product":
                yield Values(rule, module, 0, 1, 0)
            elif rule == "scale-bias":
                yield from _bias_tasks(model, module)
            else:
                for begin, end in pieces(0, tensor.size, 1):
                    yield Values(rule, name, begin, end, end - begin)


def _rules_of(model: QuantizedModel, name: str, tensor: Tensor) -> tuple[str, ...]:
    last, type, kind = last_of(name), model.type_of(name), tensor.kind
    if last in ("weight_scale", "input_scale") and type != FLOAT and kind in NUMPY:
        is_rounded = last == "weight_scale" and type in ("W8A8_DYNAMIC", "W8A16")
        return ("scale", "scale-precision") if is_rounded and kind == "F32" else ("scale",)
    if last == "weight" and type != FLOAT and kind == "F8_E4M3":
        return ("nonfinite",)
    if last == "weight_offset" and kind in NUMBERS:
        return ("offset",)
    if last == "input_offset" and kind in NUMBERS:
        return ("static",)
    if type == FLOAT and kind in FLOATS:
        return ("nonfinite",)
    if last == "deq_scale" and type == "W8A8":
        return ("product",)
    if last == "scale_bias" and type == "W4A8_DYNAMIC" and model.is_ascend:
        return ("scale-bias",)
    return ()


def _bias_tasks(model: QuantizedModel, module: str) -> Iterator[Values]:
    weight = model.part(module, "weight")
    if weight is not None and model.part(module, "weight_scale") is not None:
        for begin, end in pieces(0, weight.shape[0], weight.shape[1]):
            yield Values("scale-bias", module, begin, end, (end - begin) * weight.shape[1])


def look(model: QuantizedModel, task: Values) -> Seen:
    """Look at the values of a task."""
    if task.rule == "scale-bias":
        return _bias(model, task)
    if task.rule == "product":
        return _product(model, task.name)
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
    if tensor.kind == "U8":  # E8M0
        return raw == 255, 0.0
    if tensor.kind == "F8_E4M3":
        return raw & 127 == 127, 0.0
    values = raw.view(NUMPY[tensor.kind]).astype(np.float32)
    if rule == "nonfinite":
        return ~np.isfinite(values), 0.0
    if rule == "scale":
        return ~((values > 0) & np.isfinite(values)), 0.0
    if rule == "static":
        return ~((values >= -128) & (values <= 127)), 0.0
    if rule == "offset":
        return values != 0, 0.0
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


def _all(model: QuantizedModel, tensor: Tensor) -> NDArray[np.float64]:
    raw = bytes_of(model.folder, tensor, 0, tensor.size)
    if tensor.kind == "I64":  # the low half has the bits of a float32
        return raw.view(np.int64).astype(np.uint32).view(np.float32).astype(np.float64)
    return raw.view(NUMPY[tensor.kind]).astype(np.float64)


def _product(model: QuantizedModel, module: str) -> Seen:
    parts = [model.part(module, p) for p in ("deq_scale", "input_scale", "weight_scale")]
    if any(p is None or p.kind not in NUMBERS for p in parts):
        return Seen()
    deq, x, w = (_all(model, p) for p in parts if p is not None)
    if x.size != 1 or deq.size != w.size:
        return Seen()
    bad = ~(np.abs(deq - x * w) <= 2.0**-7 * np.abs(x * w))
    return Seen(int(bad.sum()), int(bad.argmax())) if bad.any() else Seen()


TEXTS = {
    "U8": "scales are 255, NaN in E8M0: their blocks become NaN",
    "F8_E4M3": "codes are 127 or 255, NaN in E4M3: their rows become NaN",
    "scale": "scales are NaN, infinite, zero or negative: rows become NaN or nothing",
    "offset": "offsets are not zero: vllm-ascend passes them on for W8A16, else ignores them",
    "nonfinite": "values are NaN or infinite: they spread through the layer",
    "static": "offsets are outside -128..127: activations saturate",
    "product": "values are not input_scale * weight_scale: outputs are scaled wrongly",
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
            kind = model.tensors[name].kind if name in model.tensors else ""
            text = f"{s.number} {TEXTS.get(kind, TEXTS[rule])}; the first is number {s.first}"
            if rule in ("offset", "nonfinite") and kind != "F8_E4M3":
                found.warning(rule, name, text)
            elif rule in ("product", "scale-bias"):
                part = "deq_scale" if rule == "product" else "scale_bias"
                found.error("static" if rule == "product" else rule, f"{name}.{part}", text)
            else:
                found.error(rule, name, text)
    if precision.number:
        text = f"{precision.number} scales change when read in {model.params}, as vllm-ascend"
        text += f" does, by up to {precision.most:.0f} ulp of float32"
        found.warning("scale-precision", first, text)
