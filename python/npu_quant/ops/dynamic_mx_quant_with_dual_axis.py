"""npu_dynamic_mx_quant_with_dual_axis: codes and scales of blocks along each of two axes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _mx
from ..dtypes import DTypeName


class DynamicMxQuantWithDualAxisResult(NamedTuple):
    """What npu_dynamic_mx_quant_with_dual_axis returns."""

    y1: NDArray[Any]
    """Codes of blocks along the last axis, of input's shape; of float4 the last axis is a half."""
    mxscale1: NDArray[np.uint8]
    """Their scales: of input's shape, but ceil(ceil(n / 32) / 2) and 2 for the last axis, n."""
    y2: NDArray[Any]
    """Codes of blocks along the axis before the last, of y1's shape."""
    mxscale2: NDArray[np.uint8]
    """Their scales: of input's shape, but ceil(ceil(m / 32) / 2) for that axis, m, and a last 2."""


def reference(
    input: NDArray[Any],
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> DynamicMxQuantWithDualAxisResult:
    """Compute npu_dynamic_mx_quant_with_dual_axis in plain NumPy: the formula, without checks."""
    last, other = (
        _mx.quantized(input, axis, round_mode, dst_type, scale_alg, dst_type_max)
        for axis in (-1, -2)
    )
    return DynamicMxQuantWithDualAxisResult(*last, *other)
