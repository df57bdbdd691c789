"""npu_grouped_dynamic_mx_quant: blocks of rows, which begin anew in each group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _mx
from ..dtypes import DTypeName


class GroupedDynamicMxQuantResult(NamedTuple):
    """What npu_grouped_dynamic_mx_quant returns, of x with m rows and n columns in g groups."""

    y: NDArray[Any]
    """Codes, of x's shape; of float4 the last axis is a half."""
    mxscale: NDArray[np.uint8]
    """Of shape (m // 64 + g, n, 2): two blocks a row, those of group j from
    group_index[j - 1] // 64 + j on; 0 where there is no block."""


def reference(
    x: NDArray[Any],
    group_index: NDArray[np.int32],
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 23,
    blocksize: int = _mx.BLOCK,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> GroupedDynamicMxQuantResult:
    """Compute npu_grouped_dynamic_mx_quant in plain NumPy: the formula, without checks."""
    m, n = x.shape
    mxscale = np.zeros((m // (2 * blocksize) + len(group_index), n, 2), np.uint8)
    y, start = [], 0
    for j, end in enumerate(group_index.tolist()):
        group, first = x[start:end], start // (2 * blocksize) + j
        codes, pairs = _mx.quantized(group, 0, round_mode, dst_type, scale_alg, dst_type_max)
        mxscale[first : first + len(pairs)] = pairs
        y.append(codes)
        start = end
    return GroupedDynamicMxQuantResult(np.concatenate(y), mxscale)
