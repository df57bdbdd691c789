"""Rows of a weight as codes and scales, by the operators; docs/checkpoint.md has the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._decibels import decibels
from ..ops import npu_dynamic_mx_quant, npu_dynamic_quant, npu_quantize
from .folder import CheckpointError
from .schemes import COMPRESSED, GROUP, RUNS, TYPES

DTYPES: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
GREATEST = {"int8": 127, "int4": 7}
NUMERICS = "reference"
"""The profile, whatever the default is: what a run wrote, the next one goes on with."""
EXACT = 1e9
"""sqnr_db where nothing differs."""


@dataclass(frozen=True)
class Rule:
    """What of a plan the arithmetic depends on."""

    format: str
    params: str
    mx_scale: str = "up"


@dataclass
class Error:
    """How far a weight is from v, what its codes stand for; what its pieces lose adds up."""

    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))
    """Those of w^2 and of (w - v)^2, the greatest magnitude of w - v, how many rows are zero, and,
    where there is a fifth, the sum of v^2."""

    def include(self, w: NDArray[Any], codes: NDArray[Any], scale: NDArray[Any]) -> None:
        """Take in rows of finite weights; a w - v beyond float32 counts as the greatest there is.

        Args:
            w: [rows, K], bfloat16, float16 or float32.
            codes: int8, or float8_e4m3fn.
            scale: float32 [rows, 1], or E8M0 in uint8 [rows, ceil(K / 32)].
        """
        _core.weight_error(w, codes, scale, self.sums)

    def add(self, other: Error) -> None:
        """Take in the rows of another piece."""
        greatest = max(self.sums[2], other.sums[2])
        self.sums += other.sums
        self.sums[2] = greatest

    @property
    def greatest(self) -> float:
        """The greatest magnitude of w - v."""
        return float(self.sums[2])

    @property
    def zero_rows(self) -> int:
        """How many rows are zero."""
        return int(self.sums[3])

    @property
    def sqnr_db(self) -> float | None:
        """10 log10(sum of w^2 / sum of (w - v)^2); None for zero weights."""
        weight, error = self.sums[:2].tolist()
        if weight == 0:
            return None
        return float(decibels(math.sqrt(weight), math.sqrt(error))) if error else EXACT

    @property
    def cosine(self) -> float | None:
        """Of w and v, whose sum there has to be; None where one is zero, or not finite."""
        weight, error, _, _, values = self.sums.tolist()
        product = math.sqrt(weight * values)
        return (weight + values - error) / 2 / product if 0 < product < math.inf else None


Outputs = tuple[NDArray[Any], ...]
"""What rows become, in the order of `schemes.outputs_of`."""


class NonFiniteError(CheckpointError):
    """A weight that is to be quantized has NaN or infinite values."""


def quantize(w: NDArray[Any], type: str, is_down: bool, rule: Rule, error: Error) -> Outputs:
    """Quantize rows of a weight.

    Args:
        w: [rows, K], bfloat16, float16 or float32, finite; of int4 in ascend's format an even
            number of rows.
        type: of :data:`TYPES`.
        is_down: whether scale_bias is by runs of columns.
        rule: the rest.
        error: takes in what they lose.

    Raises:
        NonFiniteError: w has NaN or infinite values.
    """
    codes = TYPES[type].codes
    if codes == "mxfp8":
        y, exponents = mx_of(w, rule.mx_scale)
        error.include(w, y, exponents)
        return y, exponents
    q, scale, stored = codes_of(w, codes, rule)
    error.include(w, q, scale[:, None])
    column = stored[:, None]
    if rule.format == COMPRESSED:
        return q, column
    zeros = np.zeros_like(column)
    if codes == "int8":
        return q, column, zeros
    packed = (q[0::2] & 15) | (q[1::2] << 4)
    return packed, column, zeros, scale_bias(q, scale, is_down)


@np.errstate(over="ignore")
def codes_of(
    w: NDArray[Any], codes: str, rule: Rule
) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[Any]]:
    """Return codes of int8 or int4, a byte each, the scale of each row, and as it is stored.

    Raises:
        NonFiniteError: w has NaN or infinite values.
    """
    amax = amax_of(w)
    if not np.isfinite(amax).all():
        raise NonFiniteError("the weight has NaN or infinite values.")
    stored = scales_of(amax, codes, rule)
    if np.isinf(stored).any():
        raise CheckpointError(f"a scale is beyond {rule.params}: use --dtype bfloat16.")
    scale = stored.astype(np.float32)
    q = codes_by(w, amax, scale, GREATEST[codes])
    return q, scale, stored if rule.format == COMPRESSED else scale


def amax_of(w: NDArray[Any]) -> NDArray[np.float32]:
    """Return the greatest magnitude of each row: NaN where the row has one."""
    # npu_dynamic_quant's scale is amax / dst_type_max, which hifloat8 lets one choose.
    by_one: Any = {"dst_type": "hifloat8", "dst_type_max": 1.0}
    scale = np.empty(len(w), np.float32)
    npu_dynamic_quant(w, **by_one, out=(None, scale), numerics=NUMERICS)
    return scale


def scales_of(amax: NDArray[np.float32], codes: str, rule: Rule) -> NDArray[Any]:
    """Return the scale of each row, in the dtype that it is rounded to; infinite if beyond it."""
    is_wide = codes == "int4" and rule.format != COMPRESSED  # which vllm-ascend keeps as float32
    dtype = np.dtype(np.float32 if is_wide else DTYPES[rule.params])
    scale: NDArray[Any] = (amax / np.float32(GREATEST[codes])).astype(dtype)
    scale[(scale == 0) & (amax != 0)] = np.array(1, f"u{dtype.itemsize}").view(dtype)
    scale[amax == 0] = 1
    return scale


def codes_by(
    w: NDArray[Any], amax: NDArray[np.float32], scale: NDArray[np.float32], greatest: int
) -> NDArray[np.int8]:
    """Return the integers nearest to w / scale, of magnitudes up to the greatest."""
    q = nearest(w, scale)
    if (amax >= (greatest + 0.5) * scale).any():  # only where a scale is subnormal in its dtype
        np.clip(q, -greatest, greatest, out=q)
    return q


def nearest(w: NDArray[Any], scale: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return the integers nearest to w / scale that int8 has, by the scale of each row."""
    q: NDArray[np.int8] = npu_quantize(w, scale, None, "int8", axis=0, numerics=NUMERICS)
    return q


def scale_bias(
    q: NDArray[np.int8], scale: NDArray[np.float32], is_down: bool
) -> NDArray[np.float32]:
    """Return 8 times the sum of a row's codes, or of its runs of columns, by its scale."""
    sums = q.reshape(len(q), RUNS if is_down else 1, -1).sum(axis=2, dtype=np.int64)
    return np.asarray((8 * sums).astype(np.float32) * scale[:, None])


def mx_of(w: NDArray[Any], mx_scale: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return codes of MXFP8, and the E8M0 of each block.

    Raises:
        NonFiniteError: w has NaN or infinite values.
    """
    n, k = w.shape
    alg = 1 if mx_scale == "up" else 0
    y, pairs = npu_dynamic_mx_quant(w, dst_type="float8_e4m3fn", scale_alg=alg, numerics=NUMERICS)
    scale = np.ascontiguousarray(pairs.reshape(n, -1)[:, : -(-k // GROUP)])
    if (scale == 255).any():
        raise NonFiniteError("the weight has NaN or infinite values.")
    _set_zero_blocks(w, scale)
    return y, scale


def _set_zero_blocks(w: NDArray[Any], scale: NDArray[np.uint8]) -> None:
    """Give blocks of zeros the scale 1: the operator has 2^-127 for them and for the least."""
    for row, block in zip(*np.nonzero(scale == 0), strict=True):
        if not w[row, block * GROUP : (block + 1) * GROUP].any():
            scale[row, block] = 127
