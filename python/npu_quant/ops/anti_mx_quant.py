"""npu_anti_mx_quant: from codes and a scale for each block back to floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _mx
from ..dtypes import DTypeName


def reference(
    x: NDArray[Any],
    mxscale: NDArray[Any],
    *,
    axis: int | None = -1,
    dst_type: DTypeName | None = 15,
    src_type: DTypeName | None = 292,
) -> NDArray[Any]:
    """Compute npu_anti_mx_quant in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        q = _codes.decode(x, 296 if src_type is None else src_type)
        axis = -1 if axis is None else axis
        b = _mx.spread(_mx.unpaired(mxscale, axis), axis, q.shape[axis])
        y = q * _codes.decode(b, "float8_e8m0fnu")
        return y.astype(_codes.row_of(15 if dst_type is None else dst_type).carrier)
