"""What MX codes and bytes are, in plain NumPy and float64, by blocks of 32 of the last axis.

None of it is imported from the package. ml_dtypes rounds nothing but what it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from npu_quant.golden import Comparison, compare

Array = NDArray[Any]
OP = "npu_dynamic_mx_quant"
F32 = np.float32
BF16 = ml_dtypes.bfloat16
ROWS, N = 96, 256
FORMATS = {  # emax, bits of the mantissa, top
    "float8_e4m3fn": (8, 3, 448.0),
    "float8_e5m2": (15, 2, 57344.0),
    "float4_e2m1": (2, 1, 6.0),
    "float4_e1m2": (0, 2, 1.75),
}


def numbers(dtype: Any = BF16) -> Array:
    """Return rows whose blocks' amax are all between 1 and 2 in bfloat16, and 2^40 times these."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((ROWS, N)) * np.exp(rng.standard_normal((ROWS, 1)))
    blocks = x.reshape(-1, 32)
    blocks[:128] = np.clip(blocks[:128], -0.9, 0.9)
    blocks[:128, 7] = 1 + np.arange(128) / 128
    blocks[128:256] = blocks[:128] * 2.0**40
    return x.astype(dtype)


def whole(v: Array, name: str, to_whole: Callable[[Array], Array]) -> Array:
    """Round to multiples of the step at each number, within the ends."""
    _, bits, top = FORMATS[name]
    least = {"float8_e4m3fn": -6, "float8_e5m2": -14}.get(name, 0)
    step = 2.0 ** (np.maximum(np.frexp(v)[1] - 1, least) - bits)
    return np.clip(np.copysign(to_whole(v / step) * step, v), -top, top)


def encoded(v: Array, name: str) -> Array:
    """Return the codes of numbers that have one."""
    if name[:6] == "float8":
        return v.astype(name)
    values = np.arange(8) / 4 if name == "float4_e1m2" else np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes = np.searchsorted(values, np.abs(v)).astype(np.uint8) | np.signbit(v) * np.uint8(8)
    return np.asarray(codes[..., ::2] | codes[..., 1::2] << 4)


def away(q: Array) -> Array:
    return np.copysign(np.floor(np.abs(q) + 0.5), q)


def amax_of(x: Array) -> Array:
    return np.abs(x.astype(np.float64)).reshape(ROWS, -1, 32).max(-1)


def quantized(
    x: Array, name: str, exponent: Array, to_whole: Callable[[Array], Array] = np.rint
) -> tuple[Array, Array]:
    """Return the codes and the bytes by these exponents."""
    v = x.astype(np.float64) / np.repeat(2.0**exponent, 32, axis=1)
    y = encoded(whole(v, name, to_whole), name)
    return y, (exponent + 127).astype(np.uint8).reshape(ROWS, -1, 2)


def floor_log2(a: Array) -> Array:
    return np.floor(np.log2(a))


def floored(amax: Array) -> Array:
    """Return the exponents of scale_alg 0 for float8_e4m3fn."""
    return floor_log2(amax) - 8


def fitted(amax: Array) -> Array:
    """Return those that let float8_e4m3fn hold each amax."""
    return np.ceil(np.log2(amax / 448))


def told(x: Array, name: str) -> Array:
    """Return the exponents of scale_alg 0."""
    return floor_log2(amax_of(x)) - FORMATS[name][0]


def up_to(a: Array, greatest: float) -> Array:
    """Return the least E with a <= greatest * 2^E."""
    e = np.floor(np.log2(a / greatest)) - 1
    for _ in range(3):
        e += a > greatest * 2.0**e
    return e


def even(a: Array, bits: int) -> Array:
    _, exponent = np.frexp(a)
    step = 2.0 ** (exponent - 1 - bits)
    return floor_log2(np.floor(a / step + 0.5) * step)


def compared(actual: Any, x: Array, name: str, **more: Any) -> Comparison:
    return compare(actual, op=OP, inputs={"input": x, "dst_type": name, **more})
