"""What a device gives for inputs: each operator in another order of operations than the golden.

The formulas are plain NumPy. Some inputs are made so that hundreds of numbers are ties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

import npu_quant
from planted import Array, Device

F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
MOST = {
    "int8": 127, "int4": 7, "float8_e4m3fn": 448, "float8_e5m2": 57344, "hifloat8": 32768,
    "float4_e2m1fn_x2": 6,
}  # fmt: skip
TIES = {
    "int8": np.arange(127) + 0.5,
    "int4": np.arange(7) + 0.5,
    "float8_e4m3fn": np.arange(17, 32, 2) * 2.0,
    "float8_e5m2": np.arange(9, 16, 2) * 1024.0,
    "hifloat8": np.outer([18, 22, 26, 30], 2.0 ** np.arange(4)).ravel(),
    "float4_e2m1fn_x2": np.array([2.5, 3.5, 5]),
}
NORM = 1e-6


def encoder(name: str) -> Callable[[Array], Array]:
    """Return what makes codes of numbers: the nearest, saturated, an element each."""
    if name in ("int8", "uint8", "int4", "quint8", "qint8"):
        low, high = {"int4": (-8, 7), "uint8": (0, 255), "quint8": (0, 255)}.get(name, (-128, 127))
        dtype = np.uint8 if low == 0 else np.int8
        return lambda v: np.clip(np.rint(v), low, high).astype(dtype)
    if name == "float4_e2m1fn_x2":
        return lambda v: npu_quant.formats.unpack_fp4(npu_quant.formats.encode(v.astype(F32), name))
    if name == "hifloat8":
        return lambda v: npu_quant.formats.encode(v.astype(F32), name)
    most, dtype = MOST[name], np.dtype(getattr(ml_dtypes, name))
    return lambda v: np.clip(v, -most, most).astype(F32).astype(dtype)


def activations(name: str = "int8", rows: int = 256, seed: int = 0, dtype: Any = F16) -> Array:
    """Return activations of 1000 columns; every fourth row has ties of a format.

    Its scale, 15 or 61 times a power of two, has no exact reciprocal. The greatest of every fifth row
    lies in the last columns.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 1000)) * np.exp(rng.standard_normal((rows, 1)) / 4)
    x[::5, 996 + rng.integers(0, 4, len(x[::5]))] = 6
    most = MOST[name]
    odd = 61 if name == "hifloat8" else 15
    scale = odd * 2.0 ** np.floor(np.log2(6 / odd / most))
    x[::4] = x[::4].clip(-scale * most, scale * most)
    x[::4, 7] = scale * most
    ties = TIES[name]
    at = 4 * rng.integers(0, rows // 4, 800), rng.integers(8, 990, 800)
    x[at] = scale * rng.choice(ties, 800) * rng.choice([-1, 1], 800)
    return x.astype(dtype)


def given(op: str, inputs: Mapping[str, Any]) -> Any:
    result = getattr(npu_quant, op)(**inputs)
    return result if isinstance(result, tuple) else (result,)


def call(op: str | None, **inputs: Any) -> Device:
    return of_call(op, inputs)


def of_call(op: str | None, inputs: Mapping[str, Any]) -> Device:
    """Return an operator's device with inputs by name."""
    assert op is not None
    return CALLS[op](op, inputs)


def _device(op: str, inputs: Mapping[str, Any], name: str, v: Array, **others: Array) -> Device:
    encode = encoder(name)
    return Device(op, inputs, {"y": encode(v), **others}, v, encode)


def smoothed(inputs: Mapping[str, Any]) -> Array:
    x, smooth, ends = (inputs.get(k) for k in ("input", "smooth_scales", "group_index"))
    v = x.astype(F32)
    if smooth is None:
        return v
    if ends is None:
        return v * smooth.astype(F32)
    return v * smooth.astype(F32)[np.searchsorted(ends, np.arange(len(v)), "right")]


def _dynamic(op: str, inputs: Mapping[str, Any]) -> Device:
    name = inputs["dst_type"]
    v, most = smoothed(inputs), F32(inputs.get("dst_type_max") or MOST[name])
    if inputs.get("quant_mode") == "pertensor":
        amax = np.abs(v).max(keepdims=True)
    else:
        amax = np.abs(v).max(-1, keepdims=True)
    return _device(op, inputs, name, v * (most / amax), scale=(1 / (most / amax)).reshape(-1))


def _asymmetric(op: str, inputs: Mapping[str, Any]) -> Device:
    v = smoothed(inputs)
    hi, lo = v.max(-1, keepdims=True), v.min(-1, keepdims=True)
    scale = (hi - lo) * F32(1 / 255)
    offset = 127 - hi * (1 / scale)
    q = v * (1 / scale) + offset
    return _device(op, inputs, "int8", q, scale=scale[:, 0], offset=offset[:, 0])


def _block(op: str, inputs: Mapping[str, Any]) -> Device:
    x, name = inputs["x"].astype(F32), inputs["dst_type"]
    high, wide = inputs.get("row_block_size", 1), inputs.get("col_block_size", 128)
    rows, columns = (-(-n // k) * k for n, k in zip(x.shape, (high, wide), strict=True))
    padded = np.zeros((rows, columns), F32)
    padded[: len(x), : x.shape[1]] = x
    tiles = padded.reshape(rows // high, high, columns // wide, wide)
    amax = np.abs(tiles).max((1, 3))
    scale = 1 / (F32(MOST[name]) / amax)
    v = (tiles * (1 / scale)[:, None, :, None]).reshape(rows, columns)[: len(x), : x.shape[1]]
    return _device(op, inputs, name, v, scale=scale)


def _mx(op: str, inputs: Mapping[str, Any]) -> Device:
    """Powers of two are exact; the device rounds ties away from zero."""
    name, x = inputs["dst_type"], inputs["input" if "input" in inputs else "x"].astype(np.float64)
    outputs = dict(zip(NAMES_OF[op], given(op, inputs), strict=True))
    first = next(iter(outputs))
    scale, axis = next(o for n, o in outputs.items() if "scale" in n), inputs.get("axis", -1)
    if op == "npu_grouped_dynamic_mx_quant":
        spread = grouped_spread(scale, inputs["group_index"], x.shape)
    elif op == "npu_dynamic_block_mx_quant" or axis % x.ndim == x.ndim - 1:
        spread = np.repeat(scale.reshape(len(x), -1), 32, 1)[:, : x.shape[1]]
    else:
        spread = np.repeat(scale.swapaxes(1, 2).reshape(-1, x.shape[1]), 32, 0)[: len(x)]
    v = np.ldexp(x, 127 - spread.astype(int)) * (1 + 2.0**-22)
    encode = encoder(name)
    outputs[first] = encode(v)
    if name.startswith("float4"):
        outputs |= {n: npu_quant.formats.unpack_fp4(o) for n, o in outputs.items() if n == "y2"}
    return Device(op, inputs, outputs, v, encode)


def grouped_spread(scale: Array, ends: Array, shape: tuple[int, ...]) -> Array:
    """Return the byte of each number, whose groups of rows have blocks of their own."""
    result, begin = np.zeros(shape, np.uint8), 0
    for group, end in enumerate(ends):
        pair = begin // 64 + group
        own = scale[pair : pair + -(-(end - begin) // 64)].swapaxes(1, 2).reshape(-1, shape[1])
        result[begin:end] = np.repeat(own, 32, 0)[: end - begin]
        begin = end
    return result


NAMES_OF = {
    "npu_dynamic_mx_quant": ("y", "mxscale"),
    "npu_dynamic_mx_quant_with_dual_axis": ("y1", "mxscale1", "y2", "mxscale2"),
    "npu_dynamic_block_mx_quant": ("y", "scale1", "scale2"),
    "npu_grouped_dynamic_mx_quant": ("y", "mxscale"),
}


def normed(x: Array, inputs: Mapping[str, Any]) -> Array:
    """Return the norm in float64."""
    x = x.astype(np.float64)
    root = np.sqrt((x * x).mean(-1, keepdims=True) + inputs.get("epsilon", NORM))
    t = x / root * inputs["gamma"].astype(np.float64)
    return t if inputs.get("beta") is None else t + inputs["beta"].astype(np.float64)


def _quantized(t: Array, scale: Array, offset: Array | None, *, divides: bool = True) -> Array:
    q = t / scale.astype(np.float64) if divides else t * scale.astype(np.float64)
    return q if offset is None else q + offset.astype(np.float64)


def _norm_quant(op: str, inputs: Mapping[str, Any]) -> Device:
    v = _quantized(normed(inputs["x"], inputs), inputs["scale"], inputs["offset"])
    encode = encoder("int8")
    return Device(op, inputs, {"y": encode(v)}, v, encode)


def _add_norm_quant(op: str, inputs: Mapping[str, Any]) -> Device:
    x = inputs["x1"].astype(F32) + inputs["x2"].astype(F32)
    t, encode = normed(x, inputs), encoder("int8")
    divides = inputs.get("div_mode", True)
    v, w = (
        _quantized(t, inputs[f"scales{i}"], inputs[f"zero_points{i}"], divides=divides)
        for i in (1, 2)
    )
    outputs = {"y1": encode(v), "y2": encode(w), "x": x.astype(inputs["x1"].dtype)}
    return Device(op, inputs, outputs, v, encode)


def _rows(t: Array) -> tuple[Array, Array]:
    amax = np.abs(t).max(-1, keepdims=True)
    return t * (127 / amax), (amax / 127).astype(F32)[:, 0]


def _norm_dynamic(op: str, inputs: Mapping[str, Any]) -> Device:
    t = normed(inputs["x"], inputs) * inputs["smooth_scale"].astype(np.float64)
    v, scale = _rows(t)
    return Device(op, inputs, {"y": encoder("int8")(v), "scale": scale}, v, encoder("int8"))


def _add_norm_dynamic(op: str, inputs: Mapping[str, Any]) -> Device:
    x = inputs["x1"].astype(F32) + inputs["x2"].astype(F32)
    t, encode = normed(x, inputs), encoder("int8")
    (v, scale1), (w, scale2) = (
        _rows(t * inputs[f"smooth_scale{i}"].astype(np.float64)) for i in (1, 2)
    )
    outputs = {"y1": encode(v), "y2": encode(w), "x_out": x.astype(inputs["x1"].dtype)}
    return Device(op, inputs, outputs | {"scale1": scale1, "scale2": scale2}, v, encode)


def _quantize(op: str, inputs: Mapping[str, Any]) -> Device:
    shape = [1, 1]
    shape[inputs.get("axis", 1)] = -1
    x, name = inputs["self"].astype(F32), NAMES[inputs["dtype"]]
    scale = inputs["scales"].astype(F32).reshape(shape)
    v = x * (1 / scale) if inputs.get("div_mode", True) else x.astype(np.float64) * scale
    if inputs["zero_points"] is not None:
        v = v + inputs["zero_points"].astype(F32).reshape(shape)
    encode = encoder(name)
    return Device(op, inputs, {"y": encode(v)}, v, encode)


NAMES = {"qint8": "int8", "quint8": "quint8", "int4": "int4", "float8_e4m3fn": "float8_e4m3fn"}


def _anti(op: str, inputs: Mapping[str, Any]) -> Device:
    """Multiply first: x * s + o * s."""
    x, dtype = inputs["x"].astype(F32), inputs.get("dst_dtype", "float16")
    scale, offset = inputs["scale"].astype(F32), inputs.get("offset")
    v = x * scale if offset is None else x * scale + offset.astype(F32) * scale
    to = np.dtype(F16 if dtype == "float16" else BF16)
    return Device(op, inputs, {"y": v.astype(to)}, v, lambda v: v.astype(to))


def _anti_mx(op: str, inputs: Mapping[str, Any]) -> Device:
    x, scale = inputs["x"].astype(F32), inputs["mxscale"]
    spread = np.repeat(scale.reshape(len(x), -1), 32, 1)[:, : x.shape[1]]
    v = np.ldexp(x, spread.astype(int) - 127)
    return Device(op, inputs, {"y": v.astype(BF16)}, v, lambda v: v.astype(BF16))


def _fake(op: str, inputs: Mapping[str, Any]) -> Device:
    """Divide where the golden multiplies by 1 / scale."""
    x = inputs["self"].astype(np.float64)
    shape = [1, 1]
    if "axis" in inputs:
        shape[inputs["axis"]] = -1
    scale, zero = np.asarray(inputs["scale"], F32), np.asarray(inputs["zero_point"])
    if scale.ndim:
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    low, high = inputs["quant_min"], inputs["quant_max"]

    def encode(v: Array) -> Array:
        return ((np.clip(np.rint(v), low, high) - zero + 0.0) * scale.astype(np.float64)).astype(
            F32
        )

    v = x / scale + zero
    outputs = {"output": encode(v)}
    if op.endswith("cachemask"):
        outputs["mask"] = (np.rint(v) >= low) & (np.rint(v) <= high)
    return Device(op, inputs, outputs, v, encode)


CALLS: dict[str, Callable[[str, Mapping[str, Any]], Device]] = {
    "npu_dynamic_quant": _dynamic,
    "npu_dynamic_quant_asymmetric": _asymmetric,
    "npu_dynamic_block_quant": _block,
    "npu_dynamic_mx_quant": _mx,
    "npu_dynamic_mx_quant_with_dual_axis": _mx,
    "npu_dynamic_block_mx_quant": _mx,
    "npu_grouped_dynamic_mx_quant": _mx,
    "npu_rms_norm_quant": _norm_quant,
    "npu_add_rms_norm_quant": _add_norm_quant,
    "npu_rms_norm_dynamic_quant": _norm_dynamic,
    "npu_add_rms_norm_dynamic_quant": _add_norm_dynamic,
    "npu_quantize": _quantize,
    "npu_anti_quant": _anti,
    "npu_anti_mx_quant": _anti_mx,
    "fake_quantize_per_tensor_affine": _fake,
    "fake_quantize_per_channel_affine": _fake,
    "fake_quantize_per_tensor_affine_cachemask": _fake,
}
