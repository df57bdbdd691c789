"""Rows of a weight as codes and scales, by the operators; docs/checkpoint.md has the formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import formats
from ..ops import npu_dtype_cast, npu_dynamic_mx_quant, npu_dynamic_quant, npu_quantize
from .folder import CheckpointError
from .schemes import COMPRESSED, GROUP, RUNS, TYPES

DTYPES: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
GREATEST = {"int8": 127, "int4": 7}
EXACT = 1e9
"""sqnr_db where nothing differs."""
_ROWS_AT_ONCE = 1 << 17
"""Elements that are compared at a time, so that they stay in the cache."""


@dataclass(frozen=True)
class Rule:
    """What of a plan the arithmetic depends on."""

    format: str
    params: str
    mx_scale: str = "up"


@dataclass
class Error:
    """How far a weight is from what its codes stand for; those of its pieces add up."""

    weight: float = 0.0
    """Sum of w^2, of finite weights."""
    error: float = 0.0
    """Sum of (w - codes * scale)^2."""
    greatest: float = 0.0
    """Of \\|w - codes * scale\\|."""
    zero_rows: int = 0

    def add(self, other: Error) -> None:
        """Take in the rows of another piece."""
        self.weight += other.weight
        self.error += other.error
        self.greatest = max(self.greatest, other.greatest)
        self.zero_rows += other.zero_rows

    @property
    def sqnr_db(self) -> float | None:
        """10 log10(weight / error); None for zero weights, and where the error is not finite."""
        if self.weight == 0 or not math.isfinite(self.error):
            return None
        return 10 * math.log10(self.weight / self.error) if self.error else EXACT


class Quantized(NamedTuple):
    """What rows become."""

    outputs: tuple[NDArray[Any], ...]
    """In the order of `schemes.outputs_of`."""
    error: Error


class NonFiniteError(CheckpointError):
    """A weight that is to be quantized has NaN or infinite values."""


@np.errstate(over="ignore")
def quantize(w: NDArray[Any], type: str, is_down: bool, rule: Rule) -> Quantized:
    """Quantize rows of a weight.

    Args:
        w: [rows, K], bfloat16, float16 or float32, finite; of int4 in ascend's format an even
            number of rows.
        type: of :data:`TYPES`.
        is_down: whether scale_bias is by runs of columns.
        rule: the rest.

    Raises:
        NonFiniteError: w has NaN or infinite values.
    """
    codes = TYPES[type].codes
    if codes == "mxfp8":
        return _mx(w, rule.mx_scale)
    amax = amax_of(w)
    if not np.isfinite(amax).all():
        raise NonFiniteError
    scale, stored = _scales(amax, codes, rule)
    q = _codes(w, amax, scale, GREATEST[codes])
    error = error_of(w, amax, lambda rows: q[rows].astype(np.float32) * scale[rows, None])
    column = stored[:, None]
    if rule.format == COMPRESSED:
        return Quantized((q, column), error)
    zeros = np.zeros_like(column)
    if codes == "int8":
        return Quantized((q, column, zeros), error)
    packed = (q[0::2] & 15) | (q[1::2] << 4)
    return Quantized((packed, column, zeros, scale_bias(q, scale, is_down)), error)


def amax_of(w: NDArray[Any]) -> NDArray[np.float32]:
    """Return the greatest magnitude of each row: NaN where the row has one."""
    # npu_dynamic_quant's scale is amax / dst_type_max, which hifloat8 lets one choose.
    by_one: Any = {"dst_type": "hifloat8", "dst_type_max": 1.0}
    scale = np.empty(len(w), np.float32)
    npu_dynamic_quant(w, **by_one, out=(None, scale))
    return scale


def _scales(
    amax: NDArray[np.float32], codes: str, rule: Rule
) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Return the scales as float32, and as they are stored."""
    is_wide = codes == "int4" and rule.format != COMPRESSED  # which vllm-ascend keeps as float32
    dtype = np.dtype(np.float32 if is_wide else DTYPES[rule.params])
    stored = (amax / np.float32(GREATEST[codes])).astype(dtype)
    stored[(stored == 0) & (amax != 0)] = np.array(1, f"u{dtype.itemsize}").view(dtype)
    stored[amax == 0] = 1
    if np.isinf(stored).any():
        raise CheckpointError(f"a scale is beyond {rule.params}: use --dtype bfloat16.")
    scale = stored.astype(np.float32)
    return scale, stored if rule.format == COMPRESSED else scale


def _codes(
    w: NDArray[Any], amax: NDArray[np.float32], scale: NDArray[np.float32], greatest: int
) -> NDArray[np.int8]:
    """Return the integers nearest to w / scale, of magnitudes up to the greatest."""
    q: NDArray[np.int8] = npu_quantize(w, scale, None, "int8", axis=0)
    if (amax >= (greatest + 0.5) * scale).any():  # only where a scale is subnormal in its dtype
        np.clip(q, -greatest, greatest, out=q)
    return q


def scale_bias(
    q: NDArray[np.int8], scale: NDArray[np.float32], is_down: bool
) -> NDArray[np.float32]:
    """Return 8 times the sum of a row's codes, or of its runs of columns, by its scale."""
    sums = q.reshape(len(q), RUNS if is_down else 1, -1).sum(axis=2, dtype=np.int64)
    return np.asarray((8 * sums).astype(np.float32) * scale[:, None])


def _mx(w: NDArray[Any], mx_scale: str) -> Quantized:
    n, k = w.shape
    y, pairs = npu_dynamic_mx_quant(
        w, dst_type="float8_e4m3fn", scale_alg=1 if mx_scale == "up" else 0
    )
    scale = np.ascontiguousarray(pairs.reshape(n, -1)[:, : -(-k // GROUP)])
    if (scale == 255).any():
        raise NonFiniteError
    _set_zero_blocks(w, scale)

    def values(rows: slice) -> NDArray[np.float32]:
        by_block = np.ldexp(np.float32(1), scale[rows].astype(np.int32) - 127)
        result = formats.decode(y[rows], "float8_e4m3fn")
        result *= np.repeat(by_block, GROUP, axis=1)[:, :k]
        return result

    return Quantized((y, scale), error_of(w, amax_of(w), values))


def _set_zero_blocks(w: NDArray[Any], scale: NDArray[np.uint8]) -> None:
    """Give blocks of zeros the scale 1: the operator has 2^-127 for them and for the least."""
    for row, block in zip(*np.nonzero(scale == 0), strict=True):
        if not w[row, block * GROUP : (block + 1) * GROUP].any():
            scale[row, block] = 127


def error_of(
    w: NDArray[Any], amax: NDArray[np.float32], values: Callable[[slice], NDArray[np.float32]]
) -> Error:
    """Return how far rows are from what their codes stand for, which `values` gives."""
    total = Error(zero_rows=int(np.count_nonzero(amax == 0)))
    step = max(1, _ROWS_AT_ONCE // w.shape[1])
    for at in range(0, len(w), step):
        rows = slice(at, at + step)
        total.add(difference(w[rows], values(rows)))
    return total


def difference(w: NDArray[Any], values: NDArray[np.float32]) -> Error:
    """Compare a few rows with what their codes stand for, which is overwritten."""
    wide = npu_dtype_cast(w, np.float32) if w.dtype != np.float32 else w
    weight = float(np.einsum("ij,ij->", wide, wide, dtype=np.float64))
    np.subtract(wide, values, out=values)
    error = float(np.einsum("ij,ij->", values, values, dtype=np.float64))
    if not math.isfinite(error):  # codes may stand for more than float32 has
        np.nan_to_num(values, copy=False)
        error = float(np.einsum("ij,ij->", values, values, dtype=np.float64))
    np.abs(values, out=values)
    return Error(weight, error, float(values.max(initial=0)))
