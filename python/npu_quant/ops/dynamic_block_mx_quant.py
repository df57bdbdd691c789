"""npu_dynamic_block_mx_quant: codes and a scale for each tile of 32 x 32, in two layouts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _mx
from ..dtypes import DTypeName


class DynamicBlockMxQuantResult(NamedTuple):
    """What npu_dynamic_block_mx_quant returns; m and n are input's last two axes."""

    y: NDArray[Any]
    """Codes, of input's shape; of float4 the last axis is a half."""
    scale1: NDArray[np.uint8]
    """The tiles' scales for each row: of shape (..., m, ceil(ceil(n / 32) / 2), 2)."""
    scale2: NDArray[np.uint8]
    """The same for each column: of shape (..., ceil(ceil(m / 32) / 2), n, 2)."""


def reference(
    input: NDArray[Any],
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> DynamicBlockMxQuantResult:
    """Compute npu_dynamic_block_mx_quant in plain NumPy: the formula, without checks."""
    m, n = input.shape[-2:]
    with np.errstate(all="ignore"):
        v = input.astype(np.float32)
        amax = _mx.greatest_of(_mx.greatest_of(v, -1), -2)
        b = _mx.bytes_of(amax, dst_type, scale_alg, dst_type_max)
        of_rows, of_columns = _mx.spread(b, -2, m), _mx.spread(b, -1, n)
        y = _codes.encode(_mx.scaled(v, _mx.spread(of_rows, -1, n)), dst_type, round_mode)
    return DynamicBlockMxQuantResult(y, _mx.paired(of_rows, -1), _mx.paired(of_columns, -2))
